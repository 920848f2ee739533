import * as api from '#admin-api'
import { readResponse } from '#admin-api'
import { foreignCell } from '#base'

export interface Fault extends Pick<api.Fault, 'rule' | 'fault'> {
  readonly at: string
  /** The tool, or the method; empty for HTTP without a call. */
  readonly called: string
  readonly id: string
  readonly session: string
  readonly effect: string
  readonly delayMs: number | null
}

export interface Rule extends Pick<
  api.Rule,
  'name' | 'faults' | 'phase' | 'percent' | 'sampled' | 'active'
> {
  readonly builtIn: boolean
  readonly temporary: boolean
  readonly dryRun: boolean
  readonly matched: number
  readonly applied: number
}

/** Errors that are alike in everything but their message. */
export interface ErrorKind extends Pick<api.ErrorKind, 'origin' | 'outcome' | 'count'> {
  /** The tool, or the method. */
  readonly called: string
  /** The HTTP status or the code of a JSON-RPC error. */
  readonly status: number | null
  /** The rule and the fault that injected the error. */
  readonly by: string
  readonly last: string
  /** The newest message, without secrets. */
  readonly message: string
  readonly trace: string
}

/** The last reload of the rules. */
export interface Reload extends Pick<api.Reload, 'result'> {
  readonly at: string
  /** The first error with its position, or the reason why there are no rules. */
  readonly problem: string
  readonly problemCount: number
}

/** The state of a sidecar at one moment; missing strings are empty. */
export interface Snapshot extends Pick<
  api.State,
  'version' | 'canChange' | 'armed' | 'dryRun' | 'activeFaults'
> {
  /** Milliseconds since the epoch by the clock of the sidecar. */
  readonly at: number | undefined
  readonly environment: string
  readonly reasons: readonly { readonly by: string; readonly reason: string; readonly at: string }[]
  readonly digest: string
  readonly generation: number
  readonly ruleCount: number
  readonly lastReload: Reload | undefined
  readonly rules: readonly Rule[]
  readonly tools: readonly Pick<api.Tool, 'tool' | 'calls' | 'errors' | 'client'>[]
  /** The last kinds of errors, those that occurred last first. */
  readonly errors: readonly ErrorKind[]
  readonly faults: {
    /** True when the list holds all faults, false when only new ones. */
    readonly whole: boolean
    readonly total: number
    readonly list: readonly Fault[]
  }
}

const MAX_TEXT = 250

/** Parses an event of `/api/events` and removes control characters. Throws an `AdminError`. */
export function readSnapshot(json: string): Snapshot {
  const clean = (text: string): string => foreignCell(text, MAX_TEXT)
  const event = readResponse(api.API.events, json, clean)
  const { state, rules, tools, faults, errors } = event
  const { version, canChange, armed, dryRun, activeFaults, lastReload } = state
  const at = Date.parse(event.at ?? '')
  return {
    at: Number.isNaN(at) ? undefined : at,
    version,
    canChange,
    armed,
    dryRun,
    activeFaults,
    environment: state.environment ?? '',
    reasons: state.reasons.map((each) => ({ ...each, at: each.at ?? '' })),
    digest: rules.digest ?? '',
    generation: rules.generation,
    ruleCount: state.rules.count,
    lastReload: lastReload === null ? undefined : reloadOf(lastReload),
    rules: rules.rules.map(ruleOf),
    tools,
    errors: errors?.errors.map(errorOf) ?? [],
    faults: { whole: faults.whole, total: faults.total, list: faults.faults.map(faultOf) },
  }
}

function reloadOf({
  result,
  at,
  reason = '',
  problems = [],
  problemCount = 0,
}: api.Reload): Reload {
  const [first] = problems
  const problem =
    first === undefined ? reason : `${first.file}:${first.line}:${first.column} ${first.message}`
  return { result, at: at ?? '', problem, problemCount }
}

function ruleOf(rule: api.Rule): Rule {
  const { name, faults, builtIn = false, temporary = false, dryRun = false } = rule
  const { phase, percent, sampled, active } = rule
  const { matched = 0, injected = 0 } = rule.counts
  return {
    name,
    faults,
    builtIn,
    temporary,
    dryRun,
    phase,
    percent,
    sampled,
    active,
    matched,
    applied: injected,
  }
}

function errorOf({ tool, method, rule, fault, status, code, ...kind }: api.ErrorKind): ErrorKind {
  const { origin, outcome, count, last, samples } = kind
  return {
    origin,
    outcome,
    count,
    called: tool ?? method,
    status: status ?? code ?? null,
    by: rule === undefined ? '' : `${rule}/${fault ?? ''}`,
    last: last ?? '',
    message: samples[0]?.message ?? '',
    trace: samples[0]?.trace ?? '',
  }
}

function faultOf({ at, rule, fault, tool, method, id, ...more }: api.Fault): Fault {
  const { session = '', effect = '', delayMs = null } = more
  return {
    at: at ?? '',
    rule,
    fault,
    called: tool ?? method ?? '',
    // The ids 1 and "1" differ.
    id: id === undefined ? '' : JSON.stringify(id),
    session,
    effect,
    delayMs,
  }
}
