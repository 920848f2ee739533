import { asBuffer } from '../base/bytes.ts'
import { jsonElements } from '../base/json/json-array.ts'
import type { RequestCall, Outcome } from './call.ts'
import { type ErrorText, errorTextOf, httpErrorText } from './error-text.ts'
import { type Message, parseMessages } from './json-rpc.ts'
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

/**
 * Receives the response to the n-th call, with its size in bytes: that of the body, or of the
 * element of a batch.
 */
export type OnResponse = (call: number, response: Message, bytes: number) => void

/** The messages and the length of a body that is not kept. */
export interface ReadBody {
  readonly length: number
  readonly read: ReadMessages
}

/**
 * Returns how each call of an exchange ended from a complete response that is not a stream. `found`
 * gets the responses that were read.
 */
export function endingsOfJsonBody(
  calls: readonly RequestCall[],
  status: number,
  body: string | Uint8Array | ReadBody,
  found?: OnResponse,
): Ending[] {
  if (status >= 200 && status < 300) {
    // 202 and 204 carry no response, whatever follows them.
    if (status === 202 || status === 204) return calls.map(() => INCOMPLETE)
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
    error ??= typeof body === 'object' && 'read' in body ? { status } : httpErrorText(status, body)
    return { outcome: 'http_error', error }
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
function read(body: string | Uint8Array | ReadBody): Sized[] | undefined {
  if (typeof body === 'object' && 'read' in body) {
    return body.read.messages.map((message) => ({ message, bytes: body.length }))
  }
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

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
