/** The counts of calls and tasks that the indicators are computed from, in the order of the output. */
const NO_COUNTS = {
  /** User intents that ended. */
  tasks: 0,
  /** Tasks in which a critical call did not succeed. */
  failedTasks: 0,
  /** Tasks in which only an optional call failed. */
  degradedTasks: 0,
  /** Tasks with a call in which a fault is known to be injected. */
  hitTasks: 0,
  /** Tasks with an injected fault whose client saw no error and got a wrong result. */
  silentFailures: 0,
  /** Tasks with an injected fault whose client got an error. */
  safeFailures: 0,
  /** Calls of tasks, without retries. */
  calls: 0,
  /** Repeated attempts of calls. */
  retries: 0,
  /** Calls with a response that is not an error. */
  responded: 0,
  /** Responded calls whose result conforms to the schema of the tool. */
  schemaOk: 0,
  /** Responded calls whose result is usable. */
  usable: 0,
  /** Responded, of the right schema and usable. */
  correct: 0,
  /** Calls that ended before their deadline or timeout. */
  inTime: 0,
  /** Correct and in time. */
  success: 0,
}

export type GrowingCounts = typeof NO_COUNTS
export type IndicatorCounts = Readonly<GrowingCounts>

export const COUNT_NAMES = Object.keys(NO_COUNTS) as readonly (keyof IndicatorCounts)[]

export function noCounts(): GrowingCounts {
  return { ...NO_COUNTS }
}

/** Adds the counts of two runs or shards. */
export function sumCounts(a: IndicatorCounts, b: IndicatorCounts): GrowingCounts {
  const sum = noCounts()
  for (const name of COUNT_NAMES) sum[name] = a[name] + b[name]
  return sum
}
