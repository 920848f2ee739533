import { LOAD_DEFAULTS, type LoadOptions } from '../load/load-options.ts'
import type { Plan } from './plan.ts'

/** What an experiment is given beside its plan. */
export interface Means {
  /** Of the program. */
  readonly version: string
  /** Sent with every request, and kept nowhere. */
  readonly headers: Readonly<Record<string, string>>
}

/** The load of one phase. */
export function phaseLoad(
  plan: Plan,
  { version, headers }: Means,
  durationMs: number,
): LoadOptions {
  const { file, target, calls, expectations, slo, seed } = plan
  const { load } = file
  return {
    target: {
      url: target,
      client: file.target.client,
      headers: { ...file.target.headers, ...headers },
    },
    work: { ...LOAD_DEFAULTS.work, tools: load.tools ?? [], calls, fanOut: load.fanOut },
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
