import { acceptsType } from '../http/accept.ts'
import type { Call, JsonRpcId } from './call.ts'
import { headerValues } from '../http/headers.ts'
import type { RequestHead } from '../http/headers.ts'
import { isModern } from './protocol-version.ts'

/** A JSON-RPC response that Squall makes itself. */
export type Reply =
  | {
      readonly jsonrpc: '2.0'
      readonly id: JsonRpcId
      readonly result: Readonly<Record<string, unknown>>
    }
  | {
      readonly jsonrpc: '2.0'
      readonly id: JsonRpcId | null
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
    }

/** A response's body in the framing that the client reads. */
export interface FramedReply {
  readonly contentType: 'application/json' | 'text/event-stream'
  readonly bytes: Uint8Array
}

/** What an error reply says. */
export interface ErrorReply {
  readonly id: JsonRpcId | null
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** A JSON-RPC error. */
export function errorReply({ id, code, message, data }: ErrorReply): Reply {
  return {
    jsonrpc: '2.0',
    id,
    error: data === undefined ? { code, message } : { code, message, data },
  }
}

/** A result, marked complete where the call's protocol version wants every result to say what it is. */
function resultReply(call: Call, result: Readonly<Record<string, unknown>>): Reply {
  const whole =
    isModern(call.protocolVersion) && result['resultType'] === undefined
      ? { resultType: 'complete', ...result }
      : result
  return { jsonrpc: '2.0', id: call.id, result: whole }
}

/** A tool result that says that the tool failed. */
export function toolErrorReply(call: Call, text: string): Reply {
  return resultReply(call, { content: [{ type: 'text', text }], isError: true })
}

/** One reply as a JSON object, or several as a batch: an array stays one also with a single element. */
export function asJson(messages: Reply | readonly Reply[]): FramedReply {
  return { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(messages), 'utf8') }
}

/** One reply as an event of a stream. JSON has no raw line ends, so one data line holds it. */
export function asSseEvent(message: Reply): FramedReply {
  const text = `event: message\ndata: ${JSON.stringify(message)}\n\n`
  return { contentType: 'text/event-stream', bytes: Buffer.from(text, 'utf8') }
}

/** True when the client takes an event stream. */
export function acceptsSse({ headers }: RequestHead): boolean {
  return headerValues(headers, 'accept').some((value) => acceptsType(value, 'text/event-stream'))
}

/** True when the client takes an event stream and nothing that a JSON response could be. */
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

/** False for integers that a double cannot hold: a reply would carry another id than the call. */
export function isExactId(id: JsonRpcId): boolean {
  return typeof id === 'string' || !Number.isInteger(id) || Number.isSafeInteger(id)
}
