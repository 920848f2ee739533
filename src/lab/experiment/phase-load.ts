import { LOAD_DEFAULTS, type LoadOptions } from '../load/load-options.ts'
import type { Plan } from './plan.ts'

/** Configures an experiment beside its plan. */
export interface Means {
  /** The version of the program. */
  readonly version: string
  /** Sent with every request, and kept nowhere. */
  readonly headers: Readonly<Record<string, string>>
  /** The tools that the first phase has chosen, where the plan names none. */
  readonly called?: readonly string[]
}

/** The load of one phase. */
export function phaseLoad(
  plan: Plan,
  { version, headers, called }: Means,
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
      // Other clients do not tell by which id they called.
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
