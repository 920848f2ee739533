import { eventMessages, isResponse } from '../../mcp/event-message.ts'
import { headerValue, mediaType, type ResponseHead } from '../../http/headers.ts'
import { parseSseFields } from '../../mcp/sse-fields.ts'
import { asBuffer } from '../../base/bytes.ts'
import { rejoined, startOf } from './body-start.ts'
import { fromOffset, isEventStream, type ResponseOffset } from './response-offset.ts'
import { CutResponse } from './cut-response.ts'
import type { FaultContext, Output } from '../fault.ts'
import { takesEffect } from './takes-effect.ts'

/** Where a response is cut: after bytes, after a share of them, or after events. */
export interface CutOffset {
  readonly bytes?: number
  readonly percent?: number
  readonly events?: number
}

/**
 * `broken`: the connection ends in the middle of the response. `clean`: the response ends in order.
 */
export type CutFraming = 'broken' | 'clean'

/**
 * Limits how much of a body without a length is buffered, to find out whether there is anything to
 * cut.
 */
const MAX_HELD = 4 * 1024 * 1024

export function cutOutput(
  ctx: FaultContext,
  output: Output,
  offset: CutOffset,
  framing: CutFraming,
): Output | Promise<Output> {
  const { head, body } = output
  // A part of a compressed body cannot be decoded.
  if (framing === 'clean' && isCoded(head)) return output
  const type = mediaType(headerValue(head.headers, 'content-type'))
  if (type === 'text/event-stream') {
    // A compressed stream has offsets in bytes alone.
    if (offset.bytes === undefined && !isEventStream(head)) return output
    return { head, body: cutStream(ctx, body, offset, framing) }
  }
  if (offset.events !== undefined) return output
  const length = declaredLength(head)
  if (length === undefined) return cutHeld(ctx, output, offset, framing)
  return cutDeclared(ctx, output, wanted(offset, length), length, framing)
}

function cutDeclared(
  ctx: FaultContext,
  { head, body }: Output,
  stay: number,
  length: number,
  framing: CutFraming,
): Output {
  // Said before the head is out, so that it can be marked.
  if (stay >= length || !takesEffect(ctx)) return { head, body }
  const headers = framing === 'clean' ? withLength(head, stay) : head.headers
  return { head: { ...head, headers }, body: firstBytes(body, stay, framing) }
}

/** Cuts a body of unknown length, after holding as much of it as the decision needs. */
async function cutHeld(
  ctx: FaultContext,
  { head, body }: Output,
  offset: CutOffset,
  framing: CutFraming,
): Promise<Output> {
  const rest = body[Symbol.asyncIterator]()
  // One byte more than is to stay shows that there is more; a share needs all of it.
  const enough = 1 + Math.min(offset.bytes ?? MAX_HELD, MAX_HELD)
  const { chunks, size, ended } = await startOf(rest, enough)
  const all = { head, body: rejoined(chunks, rest) }
  const stay = ended || size > (offset.bytes ?? Infinity) ? wanted(offset, size) : size
  return cutDeclared(ctx, all, stay, size, framing)
}

/** A share is that of the event with the response: nobody knows how long a stream will be. */
async function* cutStream(
  ctx: FaultContext,
  body: AsyncIterable<Uint8Array>,
  offset: CutOffset,
  framing: CutFraming,
): AsyncGenerator<Uint8Array, void> {
  const { percent, events } = offset
  let before: Uint8Array | undefined
  const at = percent === undefined ? (offset as ResponseOffset) : undefined
  const pieces = fromOffset(body, at, ctx.call, async function* (rest) {
    if (percent !== undefined) {
      const response = (await rest.next()).value ?? new Uint8Array()
      const stay = wanted(offset, response.length)
      if (stay < response.length && takesEffect(ctx)) {
        yield response.subarray(0, stay)
        end(framing)
        return
      }
      yield response
    } else if (!(events !== undefined && hasResponse(before)) && takesEffect(ctx)) {
      // Behind the event with the response there is nothing left to lose.
      end(framing)
      return
    }
    yield* rest
  })
  for await (const piece of pieces) {
    before = piece
    yield piece
  }
}

async function* firstBytes(
  body: AsyncIterable<Uint8Array>,
  stay: number,
  framing: CutFraming,
): AsyncGenerator<Uint8Array, void> {
  let left = stay
  for await (const chunk of body) {
    if (left > 0) yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) break
  }
  end(framing)
}

function end(framing: CutFraming): void {
  if (framing === 'broken') throw new CutResponse('fin')
}

function wanted({ bytes, percent }: CutOffset, length: number): number {
  return bytes ?? Math.floor((length * percent!) / 100)
}

function hasResponse(event: Uint8Array | undefined): boolean {
  if (event === undefined) return false
  return eventMessages(parseSseFields(asBuffer(event), true)).messages.some(isResponse)
}

function declaredLength({ headers }: ResponseHead): number | undefined {
  const value = headerValue(headers, 'content-length')
  return value !== undefined && /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined
}

function withLength({ headers }: ResponseHead, length: number): readonly string[] {
  return headers.map((value, index) =>
    index % 2 === 1 && headers[index - 1]!.toLowerCase() === 'content-length'
      ? String(length)
      : value,
  )
}

function isCoded({ headers }: ResponseHead): boolean {
  const coding = headerValue(headers, 'content-encoding') ?? ''
  return coding !== '' && coding.toLowerCase() !== 'identity'
}
