import { asBuffer } from '../../../base/bytes.ts'
import { jsonArray, jsonElements } from '../../../base/json/json-array.ts'
import { frameText, withText } from '../../../filters/lib/json/frame-json.ts'
import type { readEvent } from '../../../mcp/event-message.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import { MAX_MESSAGES, type Message } from '../../../mcp/json-rpc.ts'
import { type UpstreamFrame, upstreamFrame } from '../chain/frame.ts'

/** Decides about the messages of a batch. */
export interface BatchReader {
  /** Returns true for a message that faults act on, which needs an event of its own. */
  readonly isOwn: (message: Message) => boolean
  /** Returns true for a message that ends a call. */
  readonly ends: (message: Message) => boolean
}

/** Returns an event of the upstream with what was read in it. */
export function eventFrame(
  { raw, id }: SseFrame,
  { messages, batch }: ReturnType<typeof readEvent>,
  { ends }: BatchReader,
): UpstreamFrame {
  const message = batch ? undefined : messages[0]
  const event = upstreamFrame('event', raw, message, message !== undefined && ends(message), id)
  return batch ? { ...event, batch: messages } : event
}

/**
 * Takes the messages that faults act on out of a batch, which each become an event. The others stay
 * in batches, and all in order; the last event has the fields of the whole. Other frames are
 * returned unchanged.
 */
export function eventsOf(
  frame: UpstreamFrame,
  { isOwn, ends }: BatchReader,
): readonly UpstreamFrame[] {
  const { batch } = frame
  if (batch === undefined || batch.length > MAX_MESSAGES) return [frame]
  const own = batch.map(isOwn)
  const text = own.includes(true) ? frameText(frame) : undefined
  if (text === undefined) return [frame]
  const elements = jsonElements(Buffer.from(text))!
  const parts: UpstreamFrame[] = []
  for (let from = 0, to = 1; from < batch.length; from = to++) {
    while (!own[from] && to < batch.length && !own[to]) to++
    const raw = own[from] ? elements[from]! : jsonArray(elements.slice(from, to))
    const part = asBuffer(raw).toString()
    const whole = to < batch.length ? undefined : withText(frame, part)
    const event = whole === undefined ? eventOf(part) : whole.raw
    const id = whole === undefined ? undefined : frame.eventId
    const message = batch[from]!
    parts.push(
      own[from]
        ? upstreamFrame('event', event, message, ends(message), id)
        : { ...upstreamFrame('event', event, undefined, false, id), batch: batch.slice(from, to) },
    )
  }
  return parts
}

/** Encodes a text as an event without an id. */
export function eventOf(text: string): Uint8Array {
  const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return Buffer.from(`${lines.join('')}\n`)
}
