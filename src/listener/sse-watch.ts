import type { Transform } from 'node:stream'
import { asBuffer } from '../base/bytes.ts'
import type { ChunkRun } from '../http/chunk-run.ts'
import { ENDLESS, type Room } from '../base/room.ts'
import type { EmitFrame, SseFrame } from '../mcp/sse-framer.ts'
import { SseFramer } from '../mcp/sse-framer.ts'
import { decodedLimit, decoderFor, type Coding } from '../http/content-coding.ts'
import { HEAVY, OrderedWork } from './heavy-work.ts'

/** Coded bytes that may wait to be decoded. */
const MOST_QUEUED = 1024 * 1024
/** Memory that an event takes beside its bytes while it waits to be read. */
const EVENT = 256

/** The place of the first thing worth reading in the text of whole events; Infinity where there is none. */
export type FindSign = (text: string, from: number) => number

/** Reads the events of a stream that goes by, whatever its coding; the stream itself is not touched. */
export class SseWatch {
  readonly #framer: SseFramer
  readonly #room: Room
  /** Made for the first large event. */
  #reading: OrderedWork | undefined
  readonly #emit: EmitFrame
  readonly #onFrame: EmitFrame
  readonly #sign: FindSign
  readonly #decoder: Transform | undefined
  readonly #readable: boolean
  #missed: boolean
  /** Bytes that went into the decoder, and that came out. */
  #coded = 0
  #plain = 0

  /** Events without a sign may be left out. */
  constructor(coding: Coding, limit: number, sign: FindSign, onFrame: EmitFrame, room = ENDLESS) {
    this.#framer = new SseFramer(limit, room)
    this.#sign = sign
    this.#room = room
    this.#onFrame = onFrame
    this.#emit = (frame) => this.#event(frame)
    this.#readable = coding !== 'unknown'
    this.#missed = !this.#readable
    this.#decoder = decoderFor(coding)
    this.#decoder?.on('data', (chunk: Uint8Array) => this.#decoded(chunk))
    // A damaged stream is the client's to complain about: here it only ends the reading.
    this.#decoder?.on('error', () => {
      this.#missed = true
    })
  }

  /** True when something went by that could not be read: its coding, damage, or an event too large. */
  get missed(): boolean {
    return this.#missed
  }

  /** True where another event may go behind what was seen. */
  get between(): boolean {
    return this.#framer.between
  }

  /** A framer that goes on behind what was seen. */
  follow(): SseFramer {
    return this.#framer.fork()
  }

  push(chunk: Uint8Array): void {
    const decoder = this.#decoder
    if (decoder === undefined) {
      if (this.#readable) this.#read(asBuffer(chunk))
    } else if (decoder.writableLength > MOST_QUEUED) {
      // The stream itself must not wait for its reading, and memory must not pay for it.
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

  /** Calls `done` when every event that came has been seen, also of a stream that was cut. */
  end(done: () => void): void {
    const over = (): void => {
      this.#framer.end()
      if (this.#reading === undefined) done()
      else this.#reading.do(0, done)
    }
    if (this.#decoder === undefined || this.#decoder.destroyed) {
      over()
      return
    }
    this.#decoder.once('close', over)
    this.#decoder.end()
    this.#decoder.resume()
  }

  /** Reads an event at once; a large one when its turn has come, and those behind it after that. */
  #event(frame: SseFrame): void {
    const { length } = frame.raw
    if (length < HEAVY && this.#reading?.busy !== true) {
      this.#tell(frame)
      return
    }
    const size = length + EVENT
    if (!this.#room.take(size)) {
      this.#missed = true
      return
    }
    this.#reading ??= new OrderedWork()
    this.#reading.do(length, () => {
      this.#room.give(size)
      try {
        this.#tell(frame)
      } catch {
        // As in `#decoded`: there is nobody else to end with it.
        this.#missed = true
      }
    })
  }

  #tell(frame: SseFrame): void {
    if (frame.oversized) this.#missed = true
    else this.#onFrame(frame)
  }

  #read(bytes: Buffer): void {
    const framer = this.#framer
    const quiet =
      framer.passes(bytes, 0, bytes.length) && this.#sign(bytes.toString('latin1'), 0) === Infinity
    if (!quiet) framer.push(bytes, this.#emit)
  }

  #readRun(run: ChunkRun): void {
    const framer = this.#framer
    const { bytes, from, text, count } = run
    let sign = this.#sign(text, 0)
    for (let i = 0; i < count; i++) {
      const begin = run.begins(i)
      const end = run.ends(i)
      const quiet = end - from <= sign
      if (quiet && framer.passes(bytes, begin, end)) continue
      framer.push(bytes.subarray(begin, end), this.#emit)
      if (!quiet) sign = this.#sign(text, end - from)
    }
  }

  /** Runs outside of anybody's call: what goes wrong here has nobody else to end with. */
  #decoded(chunk: Uint8Array): void {
    this.#plain += chunk.length
    try {
      if (this.#plain > decodedLimit(this.#coded, Infinity)) throw new Error('packed too densely')
      this.#read(asBuffer(chunk))
    } catch {
      this.#missed = true
      this.#decoder?.destroy()
    }
  }
}
