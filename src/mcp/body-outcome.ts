import { asBuffer } from '../base/bytes.ts'
import type { Call, JsonRpcId, Outcome } from './call.ts'
import { parseMessages } from './json-rpc.ts'
import type { Message } from './message.ts'
import { outcomeOf } from './outcome.ts'
import { isModern } from './protocol-version.ts'

/** A body below this is always parsed: looking through it first would save nothing. */
const WORTH_SKIPPING = 16 * 1024

/** How the calls of one exchange ended by a whole response that is not a stream, call by call. */
export function outcomeOfJsonBody(
  calls: readonly Call[],
  status: number,
  body: string | Uint8Array,
): Outcome[] {
  if (status >= 200 && status < 300) {
    // 202 and 204 carry no response, whatever follows them.
    if (status === 202 || status === 204) return calls.map(() => 'incomplete')
    if (calls.length === 1 && isPlainResult(calls[0]!, body)) return ['ok']
    const responses = read(body)
    // A body that cannot be read may be a valid response: only its status tells.
    if (responses === undefined) return calls.map(() => 'ok')
    if (calls.length === 1 && responses.length === 1)
      return [outcomeOfOnly(calls[0]!, responses[0]!)]
    return calls.map((call) => {
      const response = takeResponse(responses, call, true)
      return response === undefined ? 'incomplete' : outcomeOf(call, response)
    })
  }
  const responses = status === 400 || status === 404 ? (read(body) ?? []) : []
  return calls.map((call) => {
    if (isNegotiationStatus(call.method, status)) return 'ok'
    const response = isModern(call.protocolVersion)
      ? takeResponse(responses, call, false)
      : undefined
    return response?.kind === 'error' ? 'rpc_error' : 'http_error'
  })
}

/** How an app says that it does not speak the protocol version, or the transport, of a handshake. */
function isNegotiationStatus(method: string, status: number): boolean {
  return (
    (method === 'server/discover' || method === 'initialize') &&
    (status === 400 || status === 404 || status === 405)
  )
}

/** One call and one message, as nearly always: an error without an id is about the whole body. */
function outcomeOfOnly(call: Call, response: Message): Outcome {
  const responses = response.kind === 'result' || response.kind === 'error'
  if (!responses || (response.id !== call.id && response.id !== null)) return 'incomplete'
  return outcomeOf(call, response)
}

/** Takes the response out, so that of two calls with one id each gets its own. */
function takeResponse(responses: Message[], call: Call, orNull: boolean): Message | undefined {
  let nameless: Message | undefined
  for (let i = 0; i < responses.length; i++) {
    const response = responses[i]!
    if (response.kind !== 'result' && response.kind !== 'error') continue
    if (response.id === call.id) {
      responses.splice(i, 1)
      return response
    }
    // An error without an id is about the whole body: it answers every call that has nothing else.
    if (response.id === null) nameless ??= response
  }
  return orNull ? nameless : undefined
}

/** Undefined for a body that is too complex to be read. */
function read(body: string | Uint8Array): Message[] | undefined {
  const text = typeof body === 'string' ? body : asBuffer(body).toString('utf8')
  const parsed = parseMessages(text)
  if (parsed.ok) return parsed.messages.slice()
  return parsed.reason === 'too_complex' ? undefined : []
}

/**
 * True only for a large response that is plainly this call's result and cannot be an error. JSON can
 * spell a letter of a key as \u00XX: a body with such an escape is parsed. What is not looked for is
 * whether the body is JSON throughout, and says its id once: a client that cares has the bytes.
 */
function isPlainResult(call: Call, body: string | Uint8Array): boolean {
  if (body.length <= WORTH_SKIPPING || call.method === 'tasks/get') return false
  const hay = typeof body === 'string' ? body : asBuffer(body)
  return (
    isFramedAs(call.id, textOf(hay, 0, EDGE), textOf(hay, hay.length - EDGE, hay.length)) &&
    !SIGNS.some((sign) => hay.includes(sign))
  )
}

/**
 * What must not be in it: `error` and `isError`, `method`, and a letter by its number. They are looked
 * for by their ends, as in JSON a search that stops at each quote is ten times as slow.
 */
const SIGNS = ['rror"', 'ethod"', 'u00']

/** What is looked at of both ends of a body. */
const EDGE = 256
/** The members in front of a result, and those behind it. */
const FRONT = /^\{ ?((?:"(?:jsonrpc|id)": ?(?:"[^"\\]*"|-?\d+), ?)*)"result": ?\{/
const BACK = /\}((?:, ?"(?:jsonrpc|id)": ?(?:"[^"\\]*"|-?\d+))*) ?\}[\r\n]*$/
const MEMBER = /"(jsonrpc|id)": ?("[^"\\]*"|-?\d+)/g

/** Whether a message whose ends are these has such an id. Any other spelling is parsed. */
function isFramedAs(id: JsonRpcId, front: string, back: string): boolean {
  const before = FRONT.exec(front)?.[1]
  const behind = BACK.exec(back)?.[1]
  if (before === undefined || behind === undefined) return false
  const said = new Map<string, string>()
  for (const [, name, value] of (before + behind).matchAll(MEMBER)) {
    // As in JSON, what is said last holds.
    said.set(name!, value!)
  }
  return said.get('jsonrpc') === '"2.0"' && said.get('id') === JSON.stringify(id)
}

function textOf(hay: string | Buffer, from: number, to: number): string {
  return typeof hay === 'string' ? hay.slice(from, to) : hay.toString('latin1', from, to)
}
