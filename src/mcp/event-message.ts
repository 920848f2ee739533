import { parseJson } from '../base/json/json-bounds.ts'
import { toMessage } from './json-rpc.ts'
import type { Message } from './message.ts'
import type { SseFields } from './sse-fields.ts'
import type { SseFrame } from './sse-framer.ts'

/** The fields of an event. A frame knows besides whether it is too complex to be read. */
type Event = SseFields & Partial<Pick<SseFrame, 'oversized'>>

/** The JSON-RPC message that an event carries; undefined for comments, primers and anything else. */
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
 * The result or error that an event carries; undefined for all else. Most events of a stream are
 * notifications: without the name of either member, spelt out or by the numbers of its letters, none
 * of them can be a response, and is not parsed.
 */
export function eventResponse(frame: Event): ClientResponse | undefined {
  const { data } = frame
  if (data === undefined || !SIGNS.some((sign) => data.includes(sign))) return undefined
  const message = eventMessage(frame)
  return message?.kind === 'result' || message?.kind === 'error' ? message : undefined
}

/** A message that answers a call. */
type ClientResponse = Extract<Message, { kind: 'result' | 'error' }>

/** The ends of `"result"` and `"error"`, and what the numbers of their letters begin with. */
const SIGNS = ['sult"', 'rror"', 'u006', 'u007']
