/** The counts of calls and tasks that the indicators are computed from. */
export interface IndicatorCounts {
  /** User intents that ended. */
  readonly tasks: number
  /** Tasks in which a critical call did not succeed. */
  readonly failedTasks: number
  /** Tasks in which only an optional call failed. */
  readonly degradedTasks: number
  /** Tasks with a call in which a fault is known to be injected. */
  readonly hitTasks: number
  /** Tasks with an injected fault whose client saw no error and got a wrong result. */
  readonly silentFailures: number
  /** Tasks with an injected fault whose client got an error. */
  readonly safeFailures: number
  /** Calls of tasks, without retries. */
  readonly calls: number
  /** Repeated attempts of calls. */
  readonly retries: number
  /** Calls with a response that is not an error. */
  readonly responded: number
  /** Responded calls whose result conforms to the schema of the tool. */
  readonly schemaOk: number
  /** Responded calls whose result is usable. */
  readonly usable: number
  /** Responded, of the right schema and usable. */
  readonly correct: number
  /** Calls that ended before their deadline or timeout. */
  readonly inTime: number
  /** Correct and in time. */
  readonly success: number
}

/** The names of the counts in the order of the output. */
export const COUNT_NAMES = [
  'tasks',
  'failedTasks',
  'degradedTasks',
  'hitTasks',
  'silentFailures',
  'safeFailures',
  'calls',
  'retries',
  'responded',
  'schemaOk',
  'usable',
  'correct',
  'inTime',
  'success',
] as const satisfies readonly (keyof IndicatorCounts)[]

export type GrowingCounts = { -readonly [Name in keyof IndicatorCounts]: number }

export function noCounts(): GrowingCounts {
  return {
    tasks: 0,
    failedTasks: 0,
    degradedTasks: 0,
    hitTasks: 0,
    silentFailures: 0,
    safeFailures: 0,
    calls: 0,
    retries: 0,
    responded: 0,
    schemaOk: 0,
    usable: 0,
    correct: 0,
    inTime: 0,
    success: 0,
  }
}

/** Adds the counts of two runs or shards. */
export function sumCounts(a: IndicatorCounts, b: IndicatorCounts): GrowingCounts {
  const sum = noCounts()
  for (const name of COUNT_NAMES) sum[name] = a[name] + b[name]
  return sum
}
