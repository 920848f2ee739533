import { parseJson } from '../base/json/json-bounds.ts'
import { toMessage } from './json-rpc.ts'
import type { Message } from './json-rpc.ts'
import type { SseFields } from './sse-fields.ts'
import type { SseFrame } from './sse-framer.ts'

/** The fields of an event; `oversized` is true when a frame is too complex to be read. */
type Event = SseFields & Partial<Pick<SseFrame, 'oversized'>>

/** Returns the JSON-RPC message of an event; undefined for comments, primers and anything else. */
export function eventMessage(frame: Event): Message | undefined {
  const { data, event, oversized } = frame
  if (oversized === true) return undefined
  if (data === undefined || data === '') return undefined
  if (event !== undefined && event !== '' && event !== 'message') return undefined
  try {
    return toMessage(oversized === undefined ? parseJson(data) : JSON.parse(data))
  } catch {
    return undefined
  }
}

/**
 * Returns the result or error of an event, or undefined. Most events are notifications: an event without the
 * name of either member, plain or escaped, cannot be a response and is not parsed.
 */
export function eventResponse(frame: Event): ClientResponse | undefined {
  const { data } = frame
  if (data === undefined || !SIGNS.some((sign) => data.includes(sign))) return undefined
  const message = eventMessage(frame)
  return message?.kind === 'result' || message?.kind === 'error' ? message : undefined
}

type ClientResponse = Extract<Message, { kind: 'result' | 'error' }>

/** The ends of `"result"` and `"error"`, and the start of their escaped letters. */
const SIGNS = ['sult"', 'rror"', 'u006', 'u007']
