import { asBuffer } from '../base/bytes.ts'
import { jsonElements } from '../base/json/json-array.ts'
import type { RequestCall, JsonRpcId, Outcome } from './call.ts'
import { type ErrorText, errorTextOf, httpErrorText } from './error-text.ts'
import { parseMessages } from './json-rpc.ts'
import type { Message } from './json-rpc.ts'
import { outcomeOf } from './outcome.ts'
import { isModern } from './protocol-version.ts'
import { type ReadMessages, readOf } from './read-messages.ts'

/** The outcome of a call, and what its error says. */
export interface Ending {
  readonly outcome: Outcome
  readonly error?: ErrorText
}

const OK: Ending = { outcome: 'ok' }
const INCOMPLETE: Ending = { outcome: 'incomplete' }

/** Bodies up to this size are always parsed: a search first would save nothing. */
const ALWAYS_PARSED = 16 * 1024

/**
 * Receives the response to the n-th call, with its size in bytes: that of the body, or of the
 * element of a batch.
 */
export type OnResponse = (call: number, response: Message, bytes: number) => void

/**
 * Returns how each call of an exchange ended from a complete response that is not a stream. `found`
 * gets the responses that were read; with `readsTools` these include every list of tools.
 */
export function endingsOfJsonBody(
  calls: readonly RequestCall[],
  status: number,
  body: string | Uint8Array,
  found?: OnResponse,
  readsTools = false,
): Ending[] {
  if (status >= 200 && status < 300) {
    // 202 and 204 carry no response, whatever follows them.
    if (status === 202 || status === 204) return calls.map(() => INCOMPLETE)
    if (calls.length === 1 && isCertainResult(calls[0]!, body, readsTools)) return [OK]
    const responses = read(body)
    // An unreadable body may be a valid response: only the status decides.
    if (responses === undefined) return calls.map(() => OK)
    if (calls.length === 1 && responses.length === 1) {
      const [{ message, bytes }] = responses as [Sized]
      found?.(0, message, bytes)
      return [endingOfOnly(calls[0]!, message)]
    }
    return calls.map((call, index) => {
      const response = takeResponse(responses, call, true)
      if (response === undefined) return INCOMPLETE
      found?.(index, response.message, response.bytes)
      return endingOf(call, response.message)
    })
  }
  const responses = status === 400 || status === 404 ? (read(body) ?? []) : []
  let error: ErrorText | undefined
  return calls.map((call) => {
    if (isNegotiationStatus(call.method, status)) return OK
    const response = isModern(call.protocolVersion)
      ? takeResponse(responses, call, false)
      : undefined
    if (response?.message.kind === 'error') {
      return { outcome: 'rpc_error', error: errorTextOf(response.message) }
    }
    return { outcome: 'http_error', error: (error ??= httpErrorText(status, body)) }
  })
}

/** Returns how a message ends its call. */
export function endingOf(call: RequestCall, response: Message): Ending {
  const outcome = outcomeOf(call, response)
  return outcome === 'ok' ? OK : { outcome, error: errorTextOf(response) }
}

/**
 * Returns true for the status of an upstream that rejects the protocol version or transport of a
 * handshake.
 */
function isNegotiationStatus(method: string, status: number): boolean {
  return (
    (method === 'server/discover' || method === 'initialize') &&
    (status === 400 || status === 404 || status === 405)
  )
}

/**
 * Handles the usual case of one call and one message; an error without an id is about the whole
 * body.
 */
function endingOfOnly(call: RequestCall, response: Message): Ending {
  const responses = response.kind === 'result' || response.kind === 'error'
  if (!responses || (response.id !== call.id && response.id !== null)) return INCOMPLETE
  return endingOf(call, response)
}

interface Sized {
  readonly message: Message
  readonly bytes: number
}

/**
 * Removes a call's response from the list, so that two calls with the same id get one response
 * each.
 */
function takeResponse(responses: Sized[], call: RequestCall, orNull: boolean): Sized | undefined {
  let nameless: Sized | undefined
  for (let i = 0; i < responses.length; i++) {
    const response = responses[i]!
    const { message } = response
    if (message.kind !== 'result' && message.kind !== 'error') continue
    if (message.id === call.id) {
      responses.splice(i, 1)
      return response
    }
    // An error without an id is about the whole body: it is the response to every call without
    // another one.
    if (message.id === null) nameless ??= response
  }
  return orNull ? nameless : undefined
}

/** Returns undefined for a body that is too complex to be read. */
function read(body: string | Uint8Array): Sized[] | undefined {
  const known = typeof body === 'string' ? undefined : readOf(body)
  if (known !== undefined) return sized(known, body)
  const text = typeof body === 'string' ? body : asBuffer(body).toString('utf8')
  const parsed = parseMessages(text)
  if (!parsed.ok) return parsed.reason === 'too_complex' ? undefined : []
  return sized(parsed, body)
}

function sized({ batch, messages }: ReadMessages, body: string | Uint8Array): Sized[] {
  const elements = batch ? jsonElements(bytesOf(body)) : undefined
  return messages.map((message, index) => ({
    message,
    bytes: (elements?.[index] ?? body).length,
  }))
}

/**
 * Returns true only for a large response that is certainly this call's result and not an error,
 * without parsing it. JSON can escape a letter of a key as \u00XX: a body with such an escape is
 * parsed. The check ignores invalid JSON and a repeated id inside the body, which the client
 * receives anyway.
 */
function isCertainResult(
  { id, method }: RequestCall,
  body: string | Uint8Array,
  readsTools: boolean,
): boolean {
  // These results say more than that the call ended well.
  const isRead = method === 'tasks/get' || (readsTools && method === 'tools/list')
  if (body.length <= ALWAYS_PARSED || isRead) return false
  const hay = typeof body === 'string' ? body : asBuffer(body)
  return (
    isFramedAs(id, textOf(hay, 0, EDGE), textOf(hay, hay.length - EDGE, hay.length)) &&
    !SIGNS.some((sign) => hay.includes(sign))
  )
}

/**
 * Parts of `error`, `isError`, `method` and escaped letters, which a result must not contain. The
 * ends of the words are searched, because a search that stops at each quote is ten times as slow in
 * JSON.
 */
const SIGNS = ['rror"', 'ethod"', 'u00']

/** The bytes that are checked at both ends of a body. */
const EDGE = 256
/** The members before a result, and those behind it. */
const FRONT = /^\{ ?((?:"(?:jsonrpc|id)": ?(?:"[^"\\]*"|-?\d+), ?)*)"result": ?\{/
const BACK = /\}((?:, ?"(?:jsonrpc|id)": ?(?:"[^"\\]*"|-?\d+))*) ?\}[\r\n]*$/
const MEMBER = /"(jsonrpc|id)": ?("[^"\\]*"|-?\d+)/g

/** Returns true when the ends of a message have this id in plain spelling. */
function isFramedAs(id: JsonRpcId, front: string, back: string): boolean {
  const before = FRONT.exec(front)?.[1]
  const behind = BACK.exec(back)?.[1]
  if (before === undefined || behind === undefined) return false
  const members = new Map<string, string>()
  for (const [, name, value] of (before + behind).matchAll(MEMBER)) {
    // As in JSON, the last value of a repeated key counts.
    members.set(name!, value!)
  }
  return members.get('jsonrpc') === '"2.0"' && members.get('id') === JSON.stringify(id)
}

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}

function textOf(hay: string | Buffer, from: number, to: number): string {
  return typeof hay === 'string' ? hay.slice(from, to) : hay.toString('latin1', from, to)
}
