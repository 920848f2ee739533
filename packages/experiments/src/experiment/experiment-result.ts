import { type LoadResult, RESULT_SCHEMA, type SloVerdict } from '../load/results/result.ts'
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

/** The result of a phase: a stage, or the time before or after the stages. */
export interface PhaseResult {
  readonly label: string
  readonly startedAt: string
  readonly durationMs: number
  /** The measures of the steady state. */
  readonly measured: Measured
  /** Undefined when the load could not begin. */
  readonly load?: LoadResult
}

export interface StageResult extends PhaseResult {
  /** In percent; null when no rule was armed. */
  readonly share: number | null
  /** The sidecar's counts, summed over all rules. */
  readonly matched: number
  readonly sampled: number
  /** The matched calls of which the share was to be sampled, and the samples that it leads to. */
  readonly considered?: number
  readonly expected?: number | null
  /** The probability of such a difference by chance; null where it cannot be computed. */
  readonly chance?: number | null
  readonly applied: number
  /** The downtime of the killed process; null when no process was killed, or none came back. */
  readonly restartMs: number | null
}

/** Describes what the monitoring reported about an expected alert. */
export interface AlertResult {
  readonly name: string
  readonly monitor: 'alertmanager' | 'prometheus'
  readonly withinMs: number
  /** Null when the alert need not resolve. */
  readonly resolvedWithinMs: number | null
  /** The start of the alert by the monitoring system's clock; null when it did not fire. */
  readonly startsAt: string | null
  /** Milliseconds from the injection until the alert fired; null when the alert did not fire. */
  readonly mttdMs: number | null
  /** Milliseconds from the injection until the alert resolved; null when the alert did not. */
  readonly mttrMs: number | null
}

export interface Proposal {
  readonly kind: 'stage' | 'tools' | 'hold'
  readonly why: string
  /** The text to write into the plan. */
  readonly write: string
}

/** A gate over a whole phase, with its margin. */
export interface PhaseGate extends SloVerdict {
  readonly phase: string
  /** The section of the plan. */
  readonly from: 'steadyState' | 'abortOn' | 'slo'
}

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
export interface Fact {
  /** ISO 8601. */
  readonly at: string
  readonly kind: FactKind
  readonly text: string
}

export interface ExperimentResult {
  readonly schema: typeof EXPERIMENT_SCHEMA
  readonly squall: string
  readonly id: string
  /** The id of the repeated run. */
  readonly again?: string
  readonly name: string
  readonly description?: string
  readonly planDigest: string
  readonly rulesDigest: string | null
  readonly seed: number
  /** Without user, password and query. */
  readonly target: string
  /** The name and version that the server reported; null when it was never called. */
  readonly server: string | null
  readonly environment: string
  readonly startedAt: string
  readonly endedAt: string
  readonly verdict: Verdict
  /** The label of the stage in which the experiment ended; null when all stages were completed. */
  readonly stage: string | null
  /** Null when the experiment passed. */
  readonly code: EndCode | null
  readonly why: string
  /** The result with its cause, in words and numbers. */
  readonly summary: string
  /** What to do next. */
  readonly advice: string
  /** The gate that ended the experiment; null when no gate of `abortOn` did. */
  readonly failedGate: FailedGate | null
  /**
   * Milliseconds from the detected end of a stage until the rules were restored; null when no check
   * ended a stage.
   */
  readonly rollbackMs: number | null
  readonly restored: boolean
  /** Milliseconds from the injection until a gate first failed; null when no gate failed. */
  readonly mttdMs: number | null
  /**
   * Milliseconds from the injection until steady state; null when no gate failed, or the target did
   * not recover.
   */
  readonly mttrMs: number | null
  /** The expected alerts, in the order of the plan. */
  readonly alerts: readonly AlertResult[]
  readonly before: PhaseResult
  readonly stages: readonly StageResult[]
  /** Null when the steady state was not checked again. */
  readonly after: PhaseResult | null
  readonly steadyAfter: boolean | null
  readonly proposals: readonly Proposal[]
  /** The gates over whole phases, with their margins. */
  readonly gates: readonly PhaseGate[]
  /** The recorded events, in the order of their times. */
  readonly facts: readonly Fact[]
}

const text = { type: 'string' }
const maybe = (type: string): object => ({ type: [type, 'null'] })

/** The schemas of the members of a result that the history keeps. */
const HISTORY_PROPERTIES = {
  id: text,
  squall: text,
  again: text,
  name: text,
  startedAt: text,
  endedAt: text,
  target: text,
  server: maybe('string'),
  environment: text,
  verdict: text,
  stage: maybe('string'),
  code: maybe('string'),
  why: text,
  planDigest: text,
  rulesDigest: maybe('string'),
  seed: { type: 'number' },
  mttdMs: maybe('number'),
  mttrMs: maybe('number'),
  alerts: { type: 'array', items: { type: 'object' } },
} as const satisfies { readonly [Name in keyof ExperimentResult]?: object }

type Member = keyof typeof HISTORY_PROPERTIES

export const HISTORY_MEMBERS = Object.keys(HISTORY_PROPERTIES) as readonly Member[]

type StoredResult = Pick<ExperimentResult, Member>

/** An entry of the history; those of earlier versions have no versions and no alerts. */
export type HistoryEntry = Omit<StoredResult, 'alerts' | 'squall' | 'server'> &
  Partial<Pick<StoredResult, 'alerts' | 'squall' | 'server'>>

/** The schema of a line of the history. */
export const HISTORY_SCHEMA = {
  type: 'object',
  required: ['id', 'name', 'startedAt', 'verdict', 'planDigest', 'seed'],
  properties: HISTORY_PROPERTIES,
}

const listOf = (required: Readonly<Record<string, object>>): object => ({
  type: 'array',
  items: { type: 'object', required: Object.keys(required), properties: required },
})
const number = { type: 'number' }
const PHASE = { label: text, startedAt: text, durationMs: number, measured: { type: 'object' } }
const phase = (required: Readonly<Record<string, object>>, type: unknown = 'object'): object => ({
  type,
  required: Object.keys(required),
  properties: { ...required, load: RESULT_SCHEMA },
})

/** The schema of a stored result, as far as it is shown. */
export const STORED_SCHEMA = {
  ...HISTORY_SCHEMA,
  required: [...HISTORY_SCHEMA.required, 'schema', 'squall', 'why', 'before', 'stages', 'after'],
  properties: {
    ...HISTORY_SCHEMA.properties,
    schema: { const: EXPERIMENT_SCHEMA },
    rollbackMs: maybe('number'),
    before: phase(PHASE),
    stages: { type: 'array', items: phase({ ...PHASE, sampled: number, applied: number }) },
    after: phase(PHASE, ['object', 'null']),
    alerts: listOf({
      name: text,
      monitor: text,
      withinMs: number,
      startsAt: maybe('string'),
      mttdMs: maybe('number'),
      mttrMs: maybe('number'),
    }),
    proposals: listOf({ why: text, write: text }),
    gates: listOf({ phase: text, from: text, gate: text, measured: maybe('number') }),
    facts: listOf({ at: text, kind: text, text }),
  },
}
