import type { Execution } from '../agents/action.ts'
import type { ActionEnd } from '../agents/fault-event.ts'
import { FAULT } from '../http/foreign-markers.ts'
import type { ClientInfo, Origin, Outcome } from '../mcp/call.ts'
import type { ErrorText } from '../mcp/error-text.ts'
import { isError } from '../telemetry/outcome-index.ts'
import type { CallRecord, FaultEffect } from '../telemetry/telemetry.ts'
import type { CallEntry } from './call-entry.ts'
import { hasChanged, isExecuted, originOfCall, originOfStatus } from './faults/call-outcome.ts'

/** Explains an error, for samples of errors. */
export interface Explained extends ErrorText {
  /** The fault that caused the error before the call was planned. */
  readonly by?: FaultEffect
}

const NO_FAULTS: readonly FaultEffect[] = []

const NO_RESPONSE: ReadonlySet<Outcome> = new Set(['reset', 'incomplete', 'timeout', 'abandoned'])

/** Calls that stay open until the client leaves: their duration is not measured. */
const LONG_LIVED = new Set(['subscriptions/listen'])

/** Returns the record of a call that has ended. */
export function recordOf(
  entry: CallEntry,
  end: Outcome,
  origin: Origin,
  now: number,
  resultBytes: number | undefined,
): CallRecord {
  const { call, sentAt, respondedAt, mark } = entry
  // Time for which a fault held the response back is not the upstream's.
  const respondedOrNow = respondedAt >= 0 ? respondedAt : now
  const timed = !LONG_LIVED.has(call.method)
  return {
    method: call.method,
    name: call.name,
    tool: call.tool,
    outcome: end === 'abandoned' && !timed ? 'cancelled' : end,
    origin: origin === 'real' ? originOf(entry, end) : origin,
    seconds: timed ? (now - entry.receivedAt) / 1000 : undefined,
    upstreamSeconds:
      // A delay of another Squall is not the upstream's either.
      timed && origin !== 'squall' && sentAt >= 0 && mark === 0
        ? (respondedOrNow - sentAt) / 1000
        : undefined,
    responseBytes: resultBytes,
    changed: end === 'ok' && entry.faults !== undefined && hasChanged(entry.faults, call),
    trace: entry.trace,
  }
}

/** Returns how a call of an agent ended. */
export function actionEnd(
  entry: CallEntry,
  record: CallRecord,
  now: number,
  client: ClientInfo | undefined,
  error: Explained | undefined,
): ActionEnd {
  const { session, retryAfter = error?.retryAfter } = entry
  const isOk = record.outcome === 'ok'
  return {
    record,
    faults: effectsOn(entry, error),
    retryAt: retryAfter === undefined || isOk ? undefined : now + retryAfter,
    isSessionLost: error?.status === 404 && (session !== '' || error.by !== undefined),
    isTransient: isTransient(record, error, retryAfter),
    execution: executionOf(entry, record),
    client,
    session,
  }
}

/** The codes of JSON-RPC errors that say nothing against the call. */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([-32_603, -32_000, -32_001])
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Returns true for an error that may be gone when the call is made again. */
function isTransient(
  { outcome, origin }: CallRecord,
  { status = 0, code = 0 }: Explained = {},
  retryAfter: number | undefined,
): boolean {
  if (NO_RESPONSE.has(outcome)) return true
  if (!isError(outcome)) return false
  if (retryAfter !== undefined || (outcome === 'tool_error' && origin === 'injected')) return true
  const isServers = status >= 500 && status !== 501
  return isServers || TRANSIENT_STATUSES.has(status) || TRANSIENT_CODES.has(code)
}

/** Returns what is known of the execution of a call by the upstream. */
function executionOf(
  { call, sentAt, respondedAt, faults, asksForInput }: CallEntry,
  { outcome, origin }: CallRecord,
): Execution {
  if (sentAt < 0 || asksForInput) return 'none'
  if (outcome === 'ok') return 'known'
  if (origin === 'injected_elsewhere') return 'possible'
  // The status of a stream comes before the tool runs: only a complete response counts.
  const isHidden = origin !== 'real' && faults !== undefined
  if (respondedAt >= 0) return isHidden && isExecuted(faults, call) ? 'known' : 'none'
  const hasNone = outcome === 'cancelled' || NO_RESPONSE.has(outcome)
  return hasNone || origin === 'injected' ? 'possible' : 'none'
}

/** Returns the faults that took effect on a call. */
export function effectsOn({ call, faults }: CallEntry, error?: Explained): readonly FaultEffect[] {
  return error?.by ? [error.by] : (faults?.options.listener.effectsOn?.(call) ?? NO_FAULTS)
}

function isInjected({ faults }: CallEntry['resumedBy'][number]): boolean {
  return faults !== undefined && originOfStatus(faults) === 'injected'
}

/** Returns the origin of an outcome that faults may have caused. */
function originOf(
  { call, faults, sideFaults, mark, resumedBy }: CallEntry,
  outcome: Outcome,
): Origin {
  if (sideFaults?.mayCause(outcome) === true) return 'injected'
  if (faults !== undefined && originOfCall(faults, call, outcome) === 'injected') return 'injected'
  if (NO_RESPONSE.has(outcome) && resumedBy.some(isInjected)) return 'injected'
  if (mark === 0 || !isError(outcome)) return 'real'
  return mark === FAULT || NO_RESPONSE.has(outcome) ? 'injected_elsewhere' : 'real'
}
