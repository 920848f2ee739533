/**
 * The counts of calls and tasks that the indicators are computed from, in the order of the output.
 */
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

/** A share; null when the denominator is 0. */
export type Fraction = number | null

/** The indicators. All but `tcaf` and `retriesPerTask` are fractions from 0 to 1. */
export type Indicators = Readonly<ReturnType<typeof indicatorsOf>>

/** Computes the indicators from counts. */
export function indicatorsOf(counts: IndicatorCounts) {
  const { tasks, calls, responded, correct } = counts
  const tcsr = share(counts.success, calls)
  const tcaf = share(calls, tasks)
  const etaResponded = share(responded, calls)
  const etaUsable = share(correct, responded)
  return {
    /** Tool-call success rate. */
    tcsr,
    /** Effective tool availability: `etaResponded` × `etaUsable`. */
    eta: etaOf(etaResponded, etaUsable),
    etaResponded,
    etaUsable,
    availability: etaResponded,
    correctness: etaUsable,
    /** Schema conformance rate. */
    scr: share(counts.schemaOk, calls),
    /** Amplification: calls per task. */
    tcaf,
    retriesPerTask: share(counts.retries, tasks),
    deadlineAdherence: share(counts.inTime, calls),
    blastRadius: share(counts.failedTasks, tasks),
    /** The prediction from the failed calls: 1 − (1 − e)^TCAF, with e = 1 − TCSR. */
    blastRadiusPredicted:
      tcsr === null || tcaf === null ? null : predictedBlastRadius(1 - tcsr, tcaf),
    degraded: share(counts.degradedTasks, tasks),
    silentFailures: share(counts.silentFailures, tasks),
    safeFailures: share(counts.safeFailures, tasks),
  }
}

function share(part: number, whole: number): Fraction {
  return whole === 0 ? null : part / whole
}

/** Without any response the usable share is undefined, but the availability is 0. */
function etaOf(responded: Fraction, usable: Fraction): Fraction {
  if (responded === null) return null
  return responded === 0 || usable === null ? 0 : responded * usable
}

/** Predicts the share of failed tasks when each call fails independently with probability `e`. */
export function predictedBlastRadius(e: number, callsPerTask: number): number {
  return 1 - (1 - e) ** callsPerTask
}

/**
 * Returns the interval of the share of `n` tries with success probability `p`, at `z` standard
 * deviations.
 */
export function binomialBounds(p: number, n: number, z: number): { low: number; high: number } {
  const reach = z * Math.sqrt((p * (1 - p)) / n)
  return { low: Math.max(0, p - reach), high: Math.min(1, p + reach) }
}
