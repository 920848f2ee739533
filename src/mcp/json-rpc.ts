import { isRecord } from '../base/values.ts'
import type { JsonRpcId } from './call.ts'
import { isTooComplex } from '../base/json/json-bounds.ts'

/** A JSON-RPC message, classified by its members. */
export type Message =
  | {
      readonly kind: 'request'
      readonly id: JsonRpcId
      readonly method: string
      readonly params: unknown
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: JsonRpcId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: JsonRpcId | null; readonly error: unknown }

/** The most messages in one body that are read, because all of them are planned at once. */
export const MAX_MESSAGES = 100

/** The reason for which a body could not be read as JSON-RPC. */
export type BodyProblem = 'not_json' | 'not_json_rpc' | 'too_many_messages' | 'too_complex'

/** A body read as JSON-RPC, or the reason of the failure. */
export type ParsedBody =
  | {
      readonly ok: true
      readonly batch: boolean
      readonly messages: readonly Message[]
      /** The body as JSON. */
      readonly value: unknown
    }
  | { readonly ok: false; readonly reason: BodyProblem }

const NOT_JSON: ParsedBody = { ok: false, reason: 'not_json' }
const NOT_JSON_RPC: ParsedBody = { ok: false, reason: 'not_json_rpc' }
const TOO_MANY: ParsedBody = { ok: false, reason: 'too_many_messages' }
const TOO_COMPLEX: ParsedBody = { ok: false, reason: 'too_complex' }

const MAY_BE_JSON = /^\ufeff?[ \t\n\r]*["{[\-\dtfn]/

/** Reads a whole body: one message, or a batch of them. Never throws. */
export function parseMessages(text: string): ParsedBody {
  if (isTooComplex(text)) return TOO_COMPLEX
  // A failed parse costs ten times as much as this test.
  if (!text.startsWith('{') && !MAY_BE_JSON.test(text)) return NOT_JSON
  let value: unknown
  try {
    // Servers that decode UTF-8 as browsers do drop a leading byte order mark, so it must not hide
    // a call.
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch {
    return NOT_JSON
  }
  return readMessages(value)
}

export function readMessages(value: unknown): ParsedBody {
  if (Array.isArray(value) && value.length > MAX_MESSAGES) return TOO_MANY
  const messages = messagesOf(value)
  if (messages === undefined) return NOT_JSON_RPC
  return { ok: true, batch: Array.isArray(value), messages, value }
}

/**
 * Returns the messages of a parsed JSON value: one, or those of a batch. Undefined when it is
 * neither: peers reject a batch with one invalid element as a whole.
 */
export function messagesOf(value: unknown): readonly Message[] | undefined {
  if (!Array.isArray(value)) {
    const message = toMessage(value)
    return message && [message]
  }
  const messages: Message[] = []
  for (const element of value) {
    const message = toMessage(element)
    if (message === undefined) return undefined
    messages.push(message)
  }
  return messages.length === 0 ? undefined : messages
}

/** Reads a parsed JSON value as a message; undefined when it is none. */
export function toMessage(value: unknown): Message | undefined {
  if (!isRecord(value) || value['jsonrpc'] !== '2.0') return undefined
  const { id, method } = value
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notification', method, params: value['params'] }
    return isId(id) ? { kind: 'request', id, method, params: value['params'] } : undefined
  }
  if (method !== undefined) return undefined
  const { result, error } = value
  // Some servers write `error: null` beside a result.
  if (error !== undefined && error !== null) {
    if (isId(id)) return { kind: 'error', id, error }
    return id === undefined || id === null ? { kind: 'error', id: null, error } : undefined
  }
  return result !== undefined && isId(id) ? { kind: 'result', id, result } : undefined
}

/** Returns the token of a notification of progress; undefined for other messages. */
export function progressTokenOf(message: Message | undefined): unknown {
  if (message?.kind !== 'notification' || message.method !== 'notifications/progress') {
    return undefined
  }
  return isRecord(message.params) ? message.params['progressToken'] : undefined
}

/**
 * Returns true for a valid request id. A number too large for a double parses as Infinity and is
 * invalid.
 */
export function isId(value: unknown): value is JsonRpcId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}
