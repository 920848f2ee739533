import type { IndicatorCounts } from './counts.ts'
import { predictedBlastRadius } from './blast-radius.ts'

/** A share, or null where there was nothing to take a share of. */
export type Fraction = number | null

/** The indicators. All but `tcaf` and `retriesPerTask` are fractions from 0 to 1. */
export interface Indicators {
  /** Tool-call success rate: success / calls. */
  readonly tcsr: Fraction
  /** Effective tool availability: `etaResponded` × `etaUsable`. */
  readonly eta: Fraction
  /** First factor of ETA: responded / calls. */
  readonly etaResponded: Fraction
  /** Second factor of ETA: correct / responded. */
  readonly etaUsable: Fraction
  /** Responded / calls: the first factor of ETA by its everyday name. */
  readonly availability: Fraction
  /** Correct / responded: the second factor of ETA by its everyday name. */
  readonly correctness: Fraction
  /** Schema conformance rate: schema ok / calls. */
  readonly scr: Fraction
  /** Amplification: calls / tasks. */
  readonly tcaf: Fraction
  /** Further attempts for each task. */
  readonly retriesPerTask: Fraction
  /** In time / calls. */
  readonly deadlineAdherence: Fraction
  /** Failed tasks / tasks. */
  readonly blastRadius: Fraction
  /** The prediction from the failed calls: 1 − (1 − e)^TCAF, with e = 1 − TCSR. */
  readonly blastRadiusPredicted: Fraction
  /** Degraded tasks / tasks. */
  readonly degraded: Fraction
  /** Silent failures / tasks. */
  readonly silentFailures: Fraction
  /** Safe failures / tasks. */
  readonly safeFailures: Fraction
}

/** The indicators of what was counted. */
export function indicatorsOf(counts: IndicatorCounts): Indicators {
  const { tasks, calls, responded, correct } = counts
  const tcsr = share(counts.success, calls)
  const tcaf = share(calls, tasks)
  const etaResponded = share(responded, calls)
  const etaUsable = share(correct, responded)
  return {
    tcsr,
    eta: etaOf(etaResponded, etaUsable),
    etaResponded,
    etaUsable,
    availability: etaResponded,
    correctness: etaUsable,
    scr: share(counts.schemaOk, calls),
    tcaf,
    retriesPerTask: share(counts.retries, tasks),
    deadlineAdherence: share(counts.inTime, calls),
    blastRadius: share(counts.failedTasks, tasks),
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

/** Calls of which none was answered have no usable share, and yet the tools were not available. */
function etaOf(responded: Fraction, usable: Fraction): Fraction {
  if (responded === null) return null
  return responded === 0 || usable === null ? 0 : responded * usable
}
