import type { Transform } from 'node:stream'
import { asBuffer, copyOf } from '../base/bytes.ts'
import type { ChunkRun } from '../http/chunk-run.ts'
import { ENDLESS, type ByteBudget } from '../base/byte-budget.ts'
import { type ForeignMark, markInComments } from '../http/foreign-markers.ts'
import type { JsonRpcId } from '../mcp/call.ts'
import { type EmitFrame, LARGE_PART, type SseFrame, SseFramer } from '../mcp/sse-framer.ts'
import { UnreadResponse } from '../mcp/unread-response.ts'
import { type ReadMessages, keepRead, readOf } from '../mcp/read-messages.ts'
import { decodedLimit, decoderFor, type Coding } from '../http/content-coding.ts'
import { HEAVY, OrderedWork } from '../base/event-loop.ts'

/** The bound on coded bytes that wait for the decoder. */
const MOST_QUEUED = 1024 * 1024
/** Memory of a waiting event in addition to its bytes. */
const EVENT = 256
const COLON = 0x3a

/** Returns the offset of the first sign in the text of whole events; Infinity without a sign. */
export type FindSign = (text: string, from: number) => number

/** Receives an event with the mark of the comments before it, or those comments with their mark. */
export type OnFrame = (frame: SseFrame, mark: ForeignMark) => void

/** Reads the events of a stream in any coding, without affecting the stream. */
export class SseWatch {
  readonly #framer: SseFramer
  readonly #budget: ByteBudget
  /** Created for the first large event. */
  #reading: OrderedWork | undefined
  readonly #emit: EmitFrame
  readonly #onFrame: OnFrame
  readonly #sign: FindSign
  /** Receives the id of a response that could not be read. */
  onUnread: ((id: JsonRpcId) => void) | undefined
  readonly #unread = new UnreadResponse()
  readonly #decoder: Transform | undefined
  readonly #readable: boolean
  #missed: boolean
  #mark: ForeignMark = 0
  /** The bytes of events that could not be read. */
  missedBytes = 0
  /** Bytes before and after decoding. */
  #coded = 0
  #plain = 0

  /** Events without a sign may be skipped. */
  constructor(coding: Coding, limit: number, sign: FindSign, onFrame: OnFrame, budget = ENDLESS) {
    this.#framer = new SseFramer(limit, budget)
    this.#sign = sign
    this.#budget = budget
    this.#onFrame = onFrame
    this.#emit = (frame) => this.#event(frame)
    this.#readable = coding !== 'unknown'
    this.#missed = !this.#readable
    this.#decoder = decoderFor(coding)
    this.#decoder?.on('data', (chunk: Uint8Array) => this.#decoded(chunk))
    // A damaged stream only ends the reading; the client gets its bytes.
    this.#decoder?.on('error', () => {
      this.#missed = true
    })
  }

  /** True when an event could not be read, because of its coding, damage or size. */
  get missed(): boolean {
    return this.#missed
  }

  /** The bytes that are held and were not read. */
  get unread(): number {
    return this.#framer.held + (this.#reading?.bytes ?? 0)
  }

  /** True between two events. */
  get between(): boolean {
    return this.#framer.between
  }

  /** Returns a framer that continues at this point. */
  fork(): SseFramer {
    return this.#framer.fork()
  }

  push(chunk: Uint8Array): void {
    const decoder = this.#decoder
    if (decoder === undefined) {
      if (this.#readable) this.#read(asBuffer(chunk))
    } else if (decoder.writableLength > MOST_QUEUED) {
      // The stream must not wait for the decoder, and memory stays bounded.
      this.#missed = true
      decoder.destroy()
    } else if (!decoder.destroyed) {
      this.#coded += chunk.length
      decoder.write(chunk)
    }
  }

  chunks(run: ChunkRun): void {
    if (this.#decoder !== undefined) run.each((chunk) => this.push(chunk))
    else if (this.#readable) this.#readRun(run)
  }

  /** Calls `done` when every event has been read, also of a stream that was cut. */
  end(done: () => void): void {
    const ended = (): void => {
      this.#framer.end()
      if (this.#reading === undefined) done()
      else this.#reading.run(0, done)
    }
    if (this.#decoder === undefined || this.#decoder.destroyed) {
      ended()
      return
    }
    this.#decoder.once('close', ended)
    this.#decoder.end()
    this.#decoder.resume()
  }

  /** Reads an event at once; a large event, and those behind it, later. */
  #event(frame: SseFrame): void {
    const { size: length } = frame
    if (length < HEAVY && this.#reading?.busy !== true) {
      this.#deliver(frame)
      return
    }
    const size = length + EVENT
    if (!this.#budget.take(size)) {
      this.#miss(frame)
      return
    }
    this.#reading ??= new OrderedWork()
    this.#reading.run(length, () => {
      this.#budget.give(size)
      try {
        this.#deliver(frame)
      } catch {
        // No caller can handle the error here.
        this.#missed = true
      }
    })
  }

  #deliver(frame: SseFrame): void {
    if (frame.firstByte === COLON) this.#mark = Math.max(this.#mark, markInComments(frame.raw))
    if (frame.oversized) this.#miss(frame)
    else this.#onFrame(frame, this.#mark)
    if (this.#mark > 0 && frame.data !== undefined) this.#mark = 0
  }

  #miss(frame: SseFrame): void {
    this.#missed = true
    this.missedBytes += frame.size
    const id = this.onUnread && this.#unread.take(frame)
    if (id !== undefined) this.onUnread?.(id)
  }

  #read(bytes: Buffer): void {
    const framer = this.#framer
    const quiet =
      bytes[0] !== COLON &&
      framer.passes(bytes, 0, bytes.length) &&
      this.#sign(bytes.toString('latin1'), 0) === Infinity
    if (quiet) return
    const read = framer.between ? readOf(bytes) : undefined
    if (read === undefined) framer.push(bytes, this.#emit)
    else framer.push(bytes, (frame) => this.#emitRead(frame, read))
  }

  /** Takes a frame of bytes with only one event, whose messages are known. */
  #emitRead(frame: SseFrame, read: ReadMessages): void {
    if (frame.data !== undefined) keepRead(frame.raw, read)
    this.#event(frame)
  }

  #readRun(run: ChunkRun): void {
    const framer = this.#framer
    const { bytes, from, count } = run
    if (count === 1 && run.to - from > LARGE_PART) {
      framer.push(run.copy.subarray(run.begins(0) - from, run.ends(0) - from), this.#emit)
      return
    }
    const { text } = run
    let sign = this.#sign(text, 0)
    for (let i = 0; i < count; i++) {
      const begin = run.begins(i)
      const end = run.ends(i)
      const quiet = end - from <= sign
      // Comments in front may be markers.
      if (quiet && bytes[begin] !== COLON && framer.passes(bytes, begin, end)) continue
      // The bytes of a run are overwritten by the next read.
      const isKept = end - begin >= LARGE_PART || this.#reading?.busy === true
      framer.push(isKept ? copyOf(bytes, begin, end) : bytes.subarray(begin, end), this.#emit)
      if (!quiet) sign = this.#sign(text, end - from)
    }
  }

  /** Reads decoded bytes; handles its errors, because no caller does. */
  #decoded(chunk: Uint8Array): void {
    this.#plain += chunk.length
    try {
      if (this.#plain > decodedLimit(this.#coded, Infinity))
        throw new Error('compression ratio too high')
      this.#read(asBuffer(chunk))
    } catch {
      this.#missed = true
      this.#decoder?.destroy()
    }
  }
}
