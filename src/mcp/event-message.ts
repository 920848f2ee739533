import { jsonElements } from '../base/json/json-array.ts'
import { parseJson } from '../base/json/json-bounds.ts'
import { type Message, messagesOf } from './json-rpc.ts'
import { type ReadMessages, keepRead, readOf } from './read-messages.ts'
import type { SseFields } from './sse-fields.ts'
import type { SseFrame } from './sse-framer.ts'

/** The fields of an event; `oversized` is true when a frame is too complex to be read. */
type EventFrame = SseFields & Partial<Pick<SseFrame, 'oversized' | 'raw' | 'outline' | 'size'>>

/** A message that is the response to a call. */
export type ResponseMessage = Extract<Message, { readonly kind: 'result' | 'error' }>

const NONE: ReadMessages = { batch: false, messages: [] }

/** Returns the JSON-RPC messages of an event; none for comments, primers and anything else. */
export function eventMessages(frame: EventFrame): ReadMessages {
  const { data, event, oversized, raw } = frame
  const read = raw && readOf(raw)
  if (read !== undefined) return read
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

/** Returns the messages of an event, and keeps them with its bytes. */
export function readEvent(frame: EventFrame & Pick<SseFrame, 'raw'>): ReadMessages {
  const read = eventMessages(frame)
  keepRead(frame.raw, read)
  return read
}

/** Returns true for a message that is the response to a call. */
export function isResponse(message: Message | undefined): message is ResponseMessage {
  return message?.kind === 'result' || message?.kind === 'error'
}

/**
 * Calls `found` with each result or error of an event, and its size in bytes: that of the event, or
 * of the element of a batch. Most events are notifications: an event without the name of either
 * member, plain or escaped, cannot be a response and is not parsed.
 */
export function eachResponse(
  frame: EventFrame & Pick<SseFrame, 'raw'>,
  found: (response: ResponseMessage, bytes: number) => void,
): void {
  const { outline } = frame
  if (outline !== undefined) {
    for (const message of outline.messages)
      if (isResponse(message)) found(message, frame.size ?? frame.raw.length)
    return
  }
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
