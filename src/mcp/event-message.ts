import { jsonElements } from '../base/json/json-array.ts'
import { parseJson } from '../base/json/json-bounds.ts'
import { messagesOf } from './json-rpc.ts'
import type { Message } from './json-rpc.ts'
import type { SseFields } from './sse-fields.ts'
import type { SseFrame } from './sse-framer.ts'

/** The fields of an event; `oversized` is true when a frame is too complex to be read. */
type Event = SseFields & Partial<Pick<SseFrame, 'oversized'>>

/** The messages of an event. */
export interface EventMessages {
  /** True for an array, which protocol version 2025-03-26 allows. */
  readonly batch: boolean
  readonly messages: readonly Message[]
}

/** A message that answers a call. */
export type Response = Extract<Message, { readonly kind: 'result' | 'error' }>

const NONE: EventMessages = { batch: false, messages: [] }

/** Returns the JSON-RPC messages of an event; none for comments, primers and anything else. */
export function eventMessages(frame: Event): EventMessages {
  const { data, event, oversized } = frame
  if (oversized === true) return NONE
  if (data === undefined || data === '') return NONE
  if (event !== undefined && event !== '' && event !== 'message') return NONE
  try {
    const value: unknown = oversized === undefined ? parseJson(data) : JSON.parse(data)
    const messages = messagesOf(value)
    return messages === undefined ? NONE : { batch: Array.isArray(value), messages }
  } catch {
    return NONE
  }
}

/** Returns true for a message that answers a call. */
export function isResponse(message: Message | undefined): message is Response {
  return message?.kind === 'result' || message?.kind === 'error'
}

/**
 * Calls `found` with each result or error of an event, and its size in bytes: that of the event, or of the
 * element of a batch. Most events are notifications: an event without the name of either member, plain or
 * escaped, cannot be a response and is not parsed.
 */
export function eachResponse(
  frame: Event & Pick<SseFrame, 'raw'>,
  found: (response: Response, bytes: number) => void,
): void {
  const { data } = frame
  if (data === undefined || !SIGNS.some((sign) => data.includes(sign))) return
  const { messages, batch } = eventMessages(frame)
  const elements = batch ? jsonElements(Buffer.from(data)) : undefined
  for (const [index, message] of messages.entries()) {
    if (isResponse(message)) found(message, (elements?.[index] ?? frame.raw).length)
  }
}

/** The ends of `"result"` and `"error"`, and the start of their escaped letters. */
const SIGNS = ['sult"', 'rror"', 'u006', 'u007']
