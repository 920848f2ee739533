import * as api from '#admin-api'
import { readResponse } from '#admin-api'
import { foreignCell } from '#base'

export type Snapshot = ReturnType<typeof readSnapshot>
export type Fault = ReturnType<typeof faultOf>
export type Rule = ReturnType<typeof ruleOf>
export type ErrorKind = ReturnType<typeof errorOf>

const MAX_TEXT = 250

/**
 * Parses an event of `/api/events` and removes control characters; missing strings are empty. Throws
 * an `AdminError`.
 */
export function readSnapshot(json: string) {
  const clean = (text: string): string => foreignCell(text, MAX_TEXT)
  const event = readResponse(api.API.events, json, clean)
  const { state, rules, tools, faults, errors } = event
  const { version, armed, dryRun, activeFaults, lastReload } = state
  const at = Date.parse(event.at ?? '')
  return {
    /** Milliseconds since the epoch by the clock of the sidecar. */
    at: Number.isNaN(at) ? undefined : at,
    version,
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
    /** The last kinds of errors, those that occurred last first. */
    errors: errors?.errors.map(errorOf) ?? [],
    /** `whole` is true when the list holds all faults, false when only new ones. */
    faults: { whole: faults.whole, total: faults.total, list: faults.faults.map(faultOf) },
  }
}

function reloadOf({ result, at, reason = '', problems = [], problemCount = 0 }: api.Reload) {
  const [first] = problems
  /** The first error with its position, or why no rules are loaded. */
  const problem =
    first === undefined ? reason : `${first.file}:${first.line}:${first.column} ${first.message}`
  return { result, at: at ?? '', problem, problemCount }
}

function ruleOf(rule: api.Rule) {
  const { name, faults, builtIn = false, temporary = false, dryRun = false } = rule
  const { phase, sampled, active } = rule
  const { matched = 0, injected = 0 } = rule.counts
  return {
    name,
    faults,
    builtIn,
    temporary,
    dryRun,
    phase,
    sampled,
    active,
    matched,
    applied: injected,
  }
}

/** Returns errors that are alike in everything but their message. */
function errorOf({ tool, method, rule, fault, status, code, ...kind }: api.ErrorKind) {
  const { origin, outcome, count, last, samples } = kind
  return {
    origin,
    outcome,
    count,
    called: tool ?? method,
    /** The HTTP status or the code of a JSON-RPC error. */
    status: status ?? code ?? null,
    /** The rule and the fault that injected the error. */
    by: rule === undefined ? '' : `${rule}/${fault ?? ''}`,
    last: last ?? '',
    /** The newest message, without secrets. */
    message: samples[0]?.message ?? '',
    trace: samples[0]?.trace ?? '',
  }
}

function faultOf({ at, rule, fault, tool, method, id, ...more }: api.Faults['faults'][number]) {
  const { session = '', effect = '', delayMs = null } = more
  return {
    at: at ?? '',
    rule,
    fault,
    /** The tool, or the method; empty for HTTP without a call. */
    called: tool ?? method ?? '',
    // The ids 1 and "1" differ.
    id: id === undefined ? '' : JSON.stringify(id),
    session,
    effect,
    delayMs,
  }
}
