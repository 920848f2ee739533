import { eventMessages, isResponse } from '../../mcp/event-message.ts'
import { headerValue, mediaType, type ResponseHead } from '../../http/headers.ts'
import type { SseFrame } from '../../mcp/sse-framer.ts'
import type { Call } from '../../mcp/call.ts'
import { eventsApart } from './stream/events-apart.ts'

/** Larger events are passed on without being read. */
const MAX_EVENT = 4 * 1024 * 1024

/** Marks the offset between two pieces of a response. */
const HERE = Symbol('here')

type Pieces = AsyncGenerator<Uint8Array | typeof HERE, void>

/** An offset in a response; with neither, it is right before the event with the response. */
export interface ResponseOffset {
  readonly bytes?: number
  readonly events?: number
}

/** True for an event stream that can be read. */
export function isEventStream({ headers }: ResponseHead): boolean {
  const coding = headerValue(headers, 'content-encoding') ?? 'identity'
  const type = mediaType(headerValue(headers, 'content-type'))
  return type === 'text/event-stream' && coding.toLowerCase() === 'identity'
}

/** True when a response with these headers can have the offset. */
export function canHaveOffset(offset: ResponseOffset | undefined, head: ResponseHead): boolean {
  return offset?.bytes !== undefined || isEventStream(head)
}

/**
 * A response that goes out as it is up to the offset; the rest is passed through `there`. A
 * response that is shorter than the offset goes out whole.
 */
export async function* fromOffset(
  body: AsyncIterable<Uint8Array>,
  offset: ResponseOffset | undefined,
  call: Call | undefined,
  there: (rest: AsyncGenerator<Uint8Array, void>) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const pieces = piecesOf(body, offset, call)
  try {
    for (let step = await pieces.next(); step.done !== true; step = await pieces.next()) {
      if (step.value === HERE) {
        yield* there(pieces as AsyncGenerator<Uint8Array, void>)
        return
      }
      yield step.value
    }
  } finally {
    // Not waited for: it may be in the middle of waiting for a silent upstream.
    pieces.return().catch(() => undefined)
  }
}

function piecesOf(
  body: AsyncIterable<Uint8Array>,
  offset: ResponseOffset | undefined,
  call: Call | undefined,
): Pieces {
  if (offset?.bytes !== undefined) return afterBytes(body, offset.bytes)
  const events = offset?.events
  if (events === 0) return afterBytes(body, 0)
  return events === undefined ? beforeResponse(body, call) : afterEvents(body, events)
}

async function* afterBytes(body: AsyncIterable<Uint8Array>, bytes: number): Pieces {
  let left = bytes
  if (left === 0) yield HERE
  for await (const chunk of body) {
    if (left <= 0 || chunk.length < left) {
      left -= chunk.length
      yield chunk
      continue
    }
    yield chunk.subarray(0, left)
    yield HERE
    if (chunk.length > left) yield chunk.subarray(left)
    left = 0
  }
}

async function* afterEvents(body: AsyncIterable<Uint8Array>, events: number): Pieces {
  let left = events
  const isHere = (frame: SseFrame): boolean => left > 0 && saysSomething(frame) && --left === 0
  for await (const { bytes, chosen } of eventsApart(body, MAX_EVENT, isHere)) {
    yield bytes
    if (chosen) yield HERE
  }
}

async function* beforeResponse(body: AsyncIterable<Uint8Array>, call: Call | undefined): Pieces {
  let found = call === undefined
  const isHere = (frame: SseFrame): boolean => !found && (found = hasResponse(frame, call))
  for await (const { bytes, chosen } of eventsApart(body, MAX_EVENT, isHere)) {
    if (chosen) yield HERE
    yield bytes
  }
}

function saysSomething({ ends, oversized, data, event, id, retry }: SseFrame): boolean {
  return ends && (oversized || (data ?? event ?? id ?? retry) !== undefined)
}

function hasResponse(frame: SseFrame, call: Call | undefined): boolean {
  return eventMessages(frame).messages.some(
    (message) => isResponse(message) && (message.id === null || message.id === call?.id),
  )
}
