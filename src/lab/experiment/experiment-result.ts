import type { LoadResult } from '../load/results/result.ts'
import type { Measured } from './gate.ts'
import type { Breach } from './abort-watch.ts'

/** The form of the result. A change that a reader must know of changes its number. */
export const EXPERIMENT_SCHEMA = 'squall.experiment/1'

/** The verdict of an experiment. */
export type Verdict = 'held' | 'breached' | 'inconclusive'

/** Why an experiment did not hold. The codes are stable. */
export type EndCode =
  | 'ABORT_CONDITION'
  | 'SLO'
  | 'GUARD'
  | 'TARGET_LOST'
  | 'NOT_RESTARTED'
  | 'NOT_RECOVERED'
  | 'NO_INJECTIONS'
  | 'NO_CALLS'
  | 'INTERRUPTED'
  | 'RULES_CHANGED'
  | 'DISARMED'
  | 'SIDECAR_LOST'
  | 'NOT_ACTIVE'

/** A time before, between or after stages. */
export interface PhaseResult {
  readonly label: string
  readonly startedAt: string
  readonly durationMs: number
  /** The measures of the steady state; null without measurements. */
  readonly measured: Measured
  /** Undefined where the load could not begin. */
  readonly load?: LoadResult
}

/** One stage. */
export interface StageResult extends PhaseResult {
  /** In percent; null where no rule was armed. */
  readonly share: number | null
  /** The sidecar's counts for all rules together. */
  readonly matched: number
  readonly sampled: number
  readonly applied: number
  /** The downtime of the killed process; null when none was killed, or none came back. */
  readonly restartMs: number | null
}

/** A proposal for the next, wider experiment. */
export interface Proposal {
  readonly kind: 'stage' | 'tools' | 'hold'
  readonly why: string
  /** The text to write into the plan. */
  readonly write: string
}

/** The result of an experiment. */
export interface ExperimentResult {
  readonly schema: typeof EXPERIMENT_SCHEMA
  readonly squall: string
  readonly id: string
  /** The one that was repeated. */
  readonly again?: string
  readonly name: string
  readonly description?: string
  readonly planDigest: string
  /** The digest of the rules as written; null when only a process was killed. */
  readonly rulesDigest: string | null
  readonly seed: number
  /** Without user, password and query. */
  readonly target: string
  readonly environment: string
  readonly startedAt: string
  readonly endedAt: string
  readonly verdict: Verdict
  /** The label of the stage in which it ended; null when all were gone through. */
  readonly stage: string | null
  /** Null when it held. */
  readonly code: EndCode | null
  readonly why: string
  readonly breach: Breach | null
  /** From the breach seen to the rules put back; null when there was none. */
  readonly rollbackMs: number | null
  /** True when the rules file has its previous content again. */
  readonly restored: boolean
  /** From the injection to the first breach seen; null when none was. */
  readonly mttdMs: number | null
  /** From the injection to steady state again; null when it was never left, or never came again. */
  readonly mttrMs: number | null
  readonly before: PhaseResult
  readonly stages: readonly StageResult[]
  /** Null when it was not looked at again. */
  readonly after: PhaseResult | null
  readonly steadyAfter: boolean | null
  readonly proposals: readonly Proposal[]
}
