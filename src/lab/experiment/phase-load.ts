import { LOAD_DEFAULTS, type LoadOptions } from '../load/load-options.ts'
import type { Plan } from './plan.ts'

/** Configures an experiment besides its plan. */
export interface LoadContext {
  readonly version: string
  /** Sent with every request, and never stored. */
  readonly headers: Readonly<Record<string, string>>
  /** The tools that the first phase has chosen, if the plan names none. */
  readonly called?: readonly string[]
}

/** Returns the load options of a phase. */
export function phaseLoad(
  plan: Plan,
  { version, headers, called }: LoadContext,
  durationMs: number,
): LoadOptions {
  const { file, target, admin, calls, expectations, slo, seed } = plan
  const { load } = file
  const named = load.tools ?? []
  const tools = named.length > 0 || calls.length > 0 ? named : (called ?? [])
  return {
    target: {
      url: target,
      client: file.target.client,
      headers: { ...file.target.headers, ...headers },
      // Other clients do not expose the ids of their requests.
      ...(file.target.client === 'lean' && { sidecars: [admin] }),
    },
    work: { ...LOAD_DEFAULTS.work, tools, calls, fanOut: load.fanOut },
    pace: {
      ...LOAD_DEFAULTS.pace,
      clients: load.clients,
      hold: load.streams,
      durationMs,
      ...(load.rate !== undefined && { rate: load.rate }),
    },
    resilience: {
      ...LOAD_DEFAULTS.resilience,
      timeoutMs: load.timeout,
      retries: load.retries,
      degrade: load.degrade,
      ...(load.retryBudget !== undefined && { retryBudget: load.retryBudget / 100 }),
      ...(load.deadline !== undefined && { deadlineMs: load.deadline }),
    },
    checks: { expectations, slo },
    seed,
    version,
  }
}
