import { acceptsType } from '../http/accept.ts'
import type { Call, JsonRpcId } from './call.ts'
import { headerValues, type RequestHead } from '../http/headers.ts'
import { messagesOf } from './json-rpc.ts'
import { isModern } from './protocol-version.ts'
import { keepRead } from './read-messages.ts'

/** A JSON-RPC response that Squall creates. */
export type Reply =
  | {
      readonly jsonrpc: '2.0'
      readonly id: JsonRpcId | null
      readonly result: Readonly<Record<string, unknown>>
    }
  | {
      readonly jsonrpc: '2.0'
      readonly id: JsonRpcId | null
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
    }

/** A response body in JSON or as an event stream. */
export interface FramedReply {
  readonly contentType: 'application/json' | 'text/event-stream'
  readonly bytes: Uint8Array
}

/** The content of an error reply. */
export interface ErrorReply {
  readonly id: JsonRpcId | null
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Creates a JSON-RPC error. */
export function errorReply({ id, code, message, data }: ErrorReply): Reply {
  const error = data === undefined ? { code, message } : { code, message, data }
  return { jsonrpc: '2.0', id, error }
}

/** Creates a result; adds the `resultType` that newer protocol versions require. */
function resultReply(call: Call, result: Readonly<Record<string, unknown>>): Reply {
  const whole =
    isModern(call.protocolVersion) && result['resultType'] === undefined
      ? { resultType: 'complete', ...result }
      : result
  return { jsonrpc: '2.0', id: call.id ?? null, result: whole }
}

/** Creates a tool result with `isError`. */
export function toolErrorReply(call: Call, text: string): Reply {
  return resultReply(call, { content: [{ type: 'text', text }], isError: true })
}

/** Encodes one reply as a JSON object, or an array of replies as a batch. */
export function asJson(messages: Reply | readonly Reply[]): FramedReply {
  const bytes = Buffer.from(JSON.stringify(messages), 'utf8')
  const read = messagesOf(messages)
  if (read !== undefined) keepRead(bytes, { batch: Array.isArray(messages), messages: read })
  return { contentType: 'application/json', bytes }
}

/** Encodes a reply as an event with one data line, because JSON contains no raw line breaks. */
export function asSseEvent(message: Reply): FramedReply {
  const text = `event: message\ndata: ${JSON.stringify(message)}\n\n`
  return { contentType: 'text/event-stream', bytes: Buffer.from(text, 'utf8') }
}

/** Returns true when the client accepts an event stream. */
export function acceptsSse({ headers }: RequestHead): boolean {
  return headerValues(headers, 'accept').some((value) => acceptsType(value, 'text/event-stream'))
}

/** Returns true when the client accepts an event stream and no JSON. */
export function wantsSse(head: RequestHead): boolean {
  let stream = false
  for (const value of headerValues(head.headers, 'accept')) {
    if (
      acceptsType(value, 'application/json') ||
      acceptsType(value, 'application/*') ||
      acceptsType(value, '*/*')
    ) {
      return false
    }
    stream ||= acceptsType(value, 'text/event-stream') || acceptsType(value, 'text/*')
  }
  return stream
}

/**
 * Returns false for integers that a double cannot represent: a reply would have another id than the
 * call.
 */
export function isExactId(id: JsonRpcId | undefined): id is JsonRpcId {
  if (typeof id !== 'number') return id !== undefined
  return !Number.isInteger(id) || Number.isSafeInteger(id)
}
