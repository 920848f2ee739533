import { eventMessages, isResponse } from '../../../mcp/event-message.ts'
import { headerValue, mediaType } from '../../../http/headers.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import { eventPicker, type EventChoice } from './event-choice.ts'
import { eventsApart } from './events-apart.ts'
import type { FaultContext, Output } from '../../fault.ts'

/** Larger events pass whole. */
const MAX_EVENT = 1024 * 1024

export interface Split {
  readonly events: EventChoice
  readonly pieces: number
  /** Between two pieces, in milliseconds. */
  readonly pause: number
}

/** Sends chosen events in several pieces. Not one byte is another one: only the pauses are new. */
export function split(how: Split, ctx: FaultContext, { head, body }: Output): Output {
  const type = mediaType(headerValue(head.headers, 'content-type'))
  const isCoded = headerValue(head.headers, 'content-encoding') !== undefined
  if (type !== 'text/event-stream' || isCoded) return { head, body }
  return { head, body: torn(body, how, ctx) }
}

async function* torn(
  body: AsyncIterable<Uint8Array>,
  { events, pieces, pause }: Split,
  ctx: FaultContext,
): AsyncGenerator<Uint8Array> {
  const picks = eventPicker(events)
  const isChosen = (frame: SseFrame): boolean => picks(asEvent(frame, ctx))
  for await (const { bytes, chosen } of eventsApart(body, MAX_EVENT, isChosen)) {
    if (!chosen) {
      yield bytes
      continue
    }
    for (const [index, piece] of cut(bytes, pieces).entries()) {
      if (index > 0) {
        // The pause is all that is done to it.
        ctx.injected('split')
        await ctx.sleep(pause)
      }
      yield piece
    }
  }
}

function asEvent(
  frame: SseFrame,
  ctx: FaultContext,
): Parameters<ReturnType<typeof eventPicker>>[0] {
  const { messages } = eventMessages(frame)
  const last = messages.some((each) => isResponse(each) && each.id === ctx.call?.id)
  return { kind: 'event', message: messages[0], last }
}

function cut(bytes: Uint8Array, pieces: number): readonly Uint8Array[] {
  const at = (index: number): number => Math.floor((bytes.length * index) / pieces)
  return Array.from({ length: pieces }, (_, index) => bytes.subarray(at(index), at(index + 1)))
}
