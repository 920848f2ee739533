import * as Type from 'typebox'
import type { Static } from 'typebox'
import {
  count,
  flag,
  listOf,
  maybe,
  measured,
  number,
  objectOf,
  RESULT_SCHEMA,
  text,
  verdict,
  word,
} from '../load/results/result.ts'
import type { FailedGate, Measured } from './gate.ts'
import type { Verdict } from './verdicts.ts'

/** Identifies the format of the result. Incompatible changes increase the number. */
export const EXPERIMENT_SCHEMA = 'squall.experiment/1'

export type { Verdict } from './verdicts.ts'

/** The reasons why an experiment did not pass. The codes are stable. */
export type EndCode =
  | 'ABORT_CONDITION'
  | 'SLO'
  | 'GUARD'
  | 'TARGET_LOST'
  | 'NOT_RESTARTED'
  | 'NOT_RECOVERED'
  | 'NOT_RESOLVED'
  | 'NOT_OBSERVED'
  | 'UNEXPECTED_ERROR'
  | 'UNNOTICED'
  | 'NO_INJECTIONS'
  | 'NO_CALLS'
  | 'IMPROBABLE_SHARE'
  | 'INTERRUPTED'
  | 'RULES_CHANGED'
  | 'DISARMED'
  | 'SIDECAR_LOST'
  | 'MONITOR_LOST'
  | 'NOT_ACTIVE'

/** The reason why a phase ended early. */
export interface EarlyEnd {
  readonly code: EndCode
  readonly why: string
  readonly failedGate?: FailedGate
}

/** The codes that are findings about the target, not about the experiment. */
const FAILURES: ReadonlySet<EndCode> = new Set<EndCode>([
  'ABORT_CONDITION',
  'SLO',
  'GUARD',
  'TARGET_LOST',
  'NOT_RESTARTED',
  'NOT_RECOVERED',
  'NOT_RESOLVED',
  'NOT_OBSERVED',
  'UNEXPECTED_ERROR',
])

/** Returns true when an end is a finding about the target. */
export function isFailure({ code }: EarlyEnd): boolean {
  return FAILURES.has(code)
}

export const RULES_CHANGED: EarlyEnd = {
  code: 'RULES_CHANGED',
  why: 'another program has changed the rules',
}
export const INTERRUPTED: EarlyEnd = { code: 'INTERRUPTED', why: 'the experiment was interrupted' }

const textOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'] })

/** The result of a phase: a stage, or the time before or after the stages. */
const phase = {
  label: text,
  startedAt: text,
  durationMs: number,
  /** The measures of the steady state. */
  measured: Type.Unsafe<Measured>({ type: 'object' }),
  /** Undefined when the load could not begin. */
  load: maybe(RESULT_SCHEMA),
}
const phaseResult = objectOf(phase)

const stageResult = objectOf({
  ...phase,
  /** In percent; null when no rule was armed. */
  share: measured,
  /** The sidecar's counts, summed over all rules. */
  matched: count,
  sampled: count,
  /** The matched calls of which the share was to be sampled, and the samples that it leads to. */
  considered: maybe(count),
  expected: maybe(measured),
  /** The probability of such a difference by chance; null where it cannot be computed. */
  chance: maybe(measured),
  applied: count,
  /** The downtime of the killed process; null when no process was killed, or none came back. */
  restartMs: measured,
})

/** Describes what the monitoring reported about an expected alert. */
const alert = objectOf({
  name: text,
  monitor: word<'alertmanager' | 'prometheus'>(),
  withinMs: number,
  /** Null when the alert need not resolve. */
  resolvedWithinMs: measured,
  /** The start of the alert by the monitoring system's clock; null when it did not fire. */
  startsAt: textOrNull,
  /** Milliseconds from the injection until the alert fired; null when the alert did not fire. */
  mttdMs: measured,
  /** Milliseconds from the injection until the alert resolved; null when the alert did not. */
  mttrMs: measured,
})

const proposal = objectOf({
  kind: word<'stage' | 'tools' | 'hold'>(),
  why: text,
  /** The text to write into the plan. */
  write: text,
})

/** A gate over a whole phase, with its margin. */
const phaseGate = objectOf({
  ...verdict,
  phase: text,
  /** The section of the plan. */
  from: word<'steadyState' | 'abortOn' | 'slo'>(),
})

/**
 * Names the kind of an event: `detection` is a gate that failed first, `end` the end of a stage by
 * a check.
 */
export type FactKind =
  | 'phase'
  | 'note'
  | 'injection'
  | 'real_error'
  | 'detection'
  | 'alert'
  | 'end'
  | 'rollback'
  | 'recovery'

/** A recorded event of an experiment. */
const fact = objectOf({
  /** ISO 8601. */
  at: text,
  kind: word<FactKind>(),
  text,
})

/** The members of a result that the history keeps. */
const kept = {
  id: text,
  squall: text,
  /** The id of the repeated run. */
  again: maybe(text),
  name: text,
  startedAt: text,
  endedAt: text,
  /** Without user, password and query. */
  target: text,
  /** The name and version that the server reported; null when it was never called. */
  server: textOrNull,
  environment: text,
  verdict: word<Verdict>(),
  /** The label of the stage in which the experiment ended; null when all stages were completed. */
  stage: textOrNull,
  /** Null when the experiment passed. */
  code: Type.Unsafe<EndCode | null>(textOrNull),
  why: text,
  planDigest: text,
  rulesDigest: textOrNull,
  seed: number,
  /** Milliseconds from the injection until a gate first failed; null when no gate failed. */
  mttdMs: measured,
  /**
   * Milliseconds from the injection until steady state; null when no gate failed, or the target did
   * not recover.
   */
  mttrMs: measured,
  /** The expected alerts, in the order of the plan. */
  alerts: listOf(alert),
}

const historyEntry = objectOf(kept)

/** The schema of a line of the history, as far as lists and policies need it. */
export const HISTORY_SCHEMA = {
  ...historyEntry,
  required: ['id', 'name', 'startedAt', 'verdict', 'planDigest', 'seed'],
}

export const HISTORY_MEMBERS = Object.keys(kept) as readonly (keyof HistoryEntry)[]

/** The schema of a stored result. */
export const STORED_SCHEMA = objectOf({
  ...kept,
  schema: Type.Literal(EXPERIMENT_SCHEMA),
  description: maybe(text),
  /** The result with its cause, in words and numbers. */
  summary: text,
  /** What to do next. */
  advice: text,
  /** The gate that ended the experiment; null when no gate of `abortOn` did. */
  failedGate: Type.Unsafe<FailedGate | null>({ type: ['object', 'null'] }),
  /**
   * Milliseconds from the detected end of a stage until the rules were restored; null when no check
   * ended a stage.
   */
  rollbackMs: measured,
  restored: flag,
  before: phaseResult,
  stages: listOf(stageResult),
  /** Null when the steady state was not checked again. */
  after: Type.Unsafe<PhaseResult | null>({ ...phaseResult, type: ['object', 'null'] }),
  steadyAfter: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
  proposals: listOf(proposal),
  /** The gates over whole phases, with their margins. */
  gates: listOf(phaseGate),
  /** The recorded events, in the order of their times. */
  facts: listOf(fact),
})

export type PhaseResult = Static<typeof phaseResult>
export type StageResult = Static<typeof stageResult>
export type AlertResult = Static<typeof alert>
export type Proposal = Static<typeof proposal>
export type PhaseGate = Static<typeof phaseGate>
export type Fact = Static<typeof fact>
export type HistoryEntry = Static<typeof historyEntry>
export type ExperimentResult = Static<typeof STORED_SCHEMA>
