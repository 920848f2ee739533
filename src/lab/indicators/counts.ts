/** The counts of calls and tasks that the indicators are computed from. */
export interface IndicatorCounts {
  /** User intents that came to an end. */
  readonly tasks: number
  /** Tasks of which a critical call did not succeed. */
  readonly failedTasks: number
  /** Tasks that went on without a call that was not critical. */
  readonly degradedTasks: number
  /** Tasks with at least one call that a fault is known to have hit. */
  readonly hitTasks: number
  /** Tasks hit by a fault whose client saw no error, and whose result was wrong. */
  readonly silentFailures: number
  /** Tasks with an injected fault whose client got an error. */
  readonly safeFailures: number
  /** Calls as the tasks asked for them; retries are not among them. */
  readonly calls: number
  /** Further attempts of the same calls. */
  readonly retries: number
  /** Calls that were answered without an error. */
  readonly responded: number
  /** The responded calls whose result fits the tool's schema. */
  readonly schemaOk: number
  /** The responded calls whose result is usable. */
  readonly usable: number
  /** Responded, of the right schema and usable. */
  readonly correct: number
  /** Calls that ended before their deadline, or in time without one. */
  readonly inTime: number
  /** Correct and in time. */
  readonly success: number
}

/** The names of the counts, in the order in which they are written. */
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

/** Counts that can still grow. */
export type GrowingCounts = { -readonly [Name in keyof IndicatorCounts]: number }

/** Nothing counted yet. */
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

/** The counts of two runs, or of two parts of one, together. */
export function sumCounts(a: IndicatorCounts, b: IndicatorCounts): GrowingCounts {
  const sum = noCounts()
  for (const name of COUNT_NAMES) sum[name] = a[name] + b[name]
  return sum
}
