import { foreign } from '../base/text/foreign-text.ts'
import type { Call, ClientInfo, JsonRpcId, Origin, Outcome } from '../mcp/call.ts'
import type { ErrorText } from '../mcp/error-text.ts'
import { redactText } from './redact.ts'
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
  readonly source: CallSource
  readonly protocolVersion: string | undefined
  readonly endedAt: number
}

/** The call as it arrived; times are those of the monotonic clock. */
export interface CallSource {
  readonly call: Pick<Call, 'transport'>
  /** The `traceparent` of the request that carried the call, if any. */
  readonly headerTrace: string | undefined
  readonly receivedAt: number
  /** The time at which its client came back for the response; negative where it did not. */
  readonly resumedAt: number
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
  readonly tool?: string | undefined
  readonly id?: string | number | undefined
  /** Name and version that the client states. */
  readonly client?: string | undefined
  /** Prefix of a session hash. */
  readonly session?: string | undefined
  /** The task, where calls are grouped: its key as ids are shown, or the start of a hash. */
  readonly task?: string | undefined
  readonly outcome: Outcome
  readonly origin: Origin
  /** The HTTP status, where the status is the error. */
  readonly status?: number | undefined
  /** The code of a JSON-RPC error. */
  readonly code?: number | undefined
  /**
   * From the request's last byte to the response's; missing for calls that are meant to stay open.
   */
  readonly durationMs?: number | undefined
  /** The part of the upstream; missing when the upstream did not get the call. */
  readonly upstreamMs?: number | undefined
  /** The size of the request; missing for a call in a batch. */
  readonly requestBytes?: number | undefined
  /** The size of the message with the result, where it was seen apart from others. */
  readonly resultBytes?: number | undefined
  /** True when the call ended well, but a fault changed its request or response. */
  readonly changed?: true | undefined
  readonly faults?: readonly FaultEffect[] | undefined
  /** The trace id of a valid `traceparent`. */
  readonly trace?: string | undefined
  /** The page of the trace in the tracing tool; missing for a trace that is not sampled. */
  readonly traceUrl?: string | undefined
}

const MAX_NAME = 128
const MAX_CLIENT = 60
const TOOL_CALL = 'tools/call'

/** Shows an ended call. JSON leaves undefined members out. */
export function callLine(call: EndedCall, at: number, ids: ShownIds): CallLine {
  const { method, outcome, origin, error, seconds, upstreamSeconds, responseBytes, faults } = call
  return {
    at: new Date(at).toISOString(),
    method: foreign(method, MAX_NAME),
    tool: shownTool(call),
    id: ids.id(call.id),
    client: shownClient(call.client),
    session: ids.session(call.session),
    task: call.task && ids.task(call.task),
    outcome,
    origin,
    status: error?.status,
    code: error?.code,
    durationMs: milliseconds(seconds),
    upstreamMs: milliseconds(upstreamSeconds),
    requestBytes: call.requestBytes,
    resultBytes: responseBytes,
    changed: call.changed === true ? true : undefined,
    faults: faults.length > 0 ? faults.map(({ rule, fault }) => ({ rule, fault })) : undefined,
    ...ids.trace(call.span ?? call.trace),
  }
}

/** Returns the tool of a call; undefined for other methods. */
export function shownTool(call: Pick<CallRecord, 'method' | 'name' | 'tool'>): string | undefined {
  const { method, name = '', tool } = call
  const named = method === TOOL_CALL ? name : tool
  return named === undefined ? undefined : foreign(named, MAX_NAME)
}

const SHOWN_CLIENTS = new WeakMap<ClientInfo, string>()

/** Returns name and version of a client in one text, which is kept for the calls of its session. */
export function shownClient(client: ClientInfo | undefined): string | undefined {
  if (client === undefined) return undefined
  const known = SHOWN_CLIENTS.get(client)
  if (known !== undefined) return known
  const shown = foreign(redactText(`${client.name} ${client.version}`.trim()), MAX_CLIENT)
  SHOWN_CLIENTS.set(client, shown)
  return shown
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1e6) / 1e3
}
