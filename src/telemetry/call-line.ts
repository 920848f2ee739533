import { foreign } from '../base/text/foreign-text.ts'
import type { ClientInfo, JsonRpcId, Origin, Outcome } from '../mcp/call.ts'
import type { ErrorText } from '../mcp/error-text.ts'
import { redactText } from './redact-text.ts'
import type { ShownIds, ShownTask } from './shown-ids.ts'
import type { CallRecord, FaultEffect } from './telemetry.ts'

/** A call that has ended, with what only readers of single calls need. */
export interface EndedCall extends CallRecord {
  readonly id: JsonRpcId
  /** Empty without a session. */
  readonly session: string
  readonly client: ClientInfo | undefined
  /** The text of the error; undefined for a call that ended well. */
  readonly error: ErrorText | undefined
  /** The faults that took effect on the call. */
  readonly faults: readonly FaultEffect[]
  /** The size of the request; undefined for a call in a batch. */
  readonly requestBytes?: number | undefined
  /** Undefined where calls are not grouped. */
  readonly task?: ShownTask | undefined
}

/**
 * One call as the tap and the call log show it: who called what, how it ended and why. It has
 * nothing of arguments, results and messages.
 */
export interface CallLine {
  /** ISO 8601. */
  readonly at: string
  readonly method: string
  /** The tool of a `tools/call`, or of the call that began a task. */
  readonly tool?: string
  readonly id?: string | number
  /** Name and version that the client states. */
  readonly client?: string
  /** The start of a hash of the session. */
  readonly session?: string
  /** The task, where calls are grouped: its key as ids are shown, or the start of a hash. */
  readonly task?: string
  readonly outcome: Outcome
  readonly origin: Origin
  /** The HTTP status, where the status is the error. */
  readonly status?: number
  /** The code of a JSON-RPC error. */
  readonly code?: number
  /**
   * From the request's last byte to the response's; missing for calls that are meant to stay open.
   */
  readonly durationMs?: number
  /** The part of the upstream; missing when the upstream did not get the call. */
  readonly upstreamMs?: number
  /** The size of the request; missing for a call in a batch. */
  readonly requestBytes?: number
  /** The size of the message with the result, where it was seen apart from others. */
  readonly resultBytes?: number
  /** True when the call ended well, but a fault changed its request or response. */
  readonly changed?: true
  readonly faults?: readonly FaultEffect[]
  /** The trace id of a valid `traceparent`. */
  readonly trace?: string
}

const MAX_NAME = 128
const MAX_CLIENT = 60
const TOOL_CALL = 'tools/call'

/** Shows an ended call. */
export function callLine(call: EndedCall, at: number, ids: ShownIds): CallLine {
  const { method, outcome, origin, error, seconds, upstreamSeconds, responseBytes, faults } = call
  return {
    at: new Date(at).toISOString(),
    method: foreign(method, MAX_NAME),
    ...given('tool', shownTool(call)),
    ...given('id', ids.id(call.id)),
    ...given('client', shownClient(call.client)),
    ...given('session', ids.session(call.session)),
    ...given('task', call.task && ids.task(call.task)),
    outcome,
    origin,
    ...given('status', error?.status),
    ...given('code', error?.code),
    ...given('durationMs', milliseconds(seconds)),
    ...given('upstreamMs', milliseconds(upstreamSeconds)),
    ...given('requestBytes', call.requestBytes),
    ...given('resultBytes', responseBytes),
    ...(call.changed === true && { changed: true }),
    ...(faults.length > 0 && { faults: faults.map(({ rule, fault }) => ({ rule, fault })) }),
    ...given('trace', traceId(call.trace)),
  }
}

/** Returns the tool of a call; undefined for other methods. */
export function shownTool({ method, name = '', tool }: CallRecord): string | undefined {
  const named = method === TOOL_CALL ? name : tool
  return named === undefined ? undefined : foreign(named, MAX_NAME)
}

/** Returns name and version of a client in one text. */
export function shownClient(client: ClientInfo | undefined): string | undefined {
  if (client === undefined) return undefined
  return foreign(redactText(`${client.name} ${client.version}`.trim()), MAX_CLIENT)
}

/** Returns the trace id of a traceparent. */
export function traceId(trace: string | undefined): string | undefined {
  return trace?.slice(3, 35)
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1e6) / 1e3
}

function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]: Value })
}
