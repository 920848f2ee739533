import type { Transform } from 'node:stream'
import type { EmitFrame } from '../mcp/sse-framer.ts'
import { SseFramer } from '../mcp/sse-framer.ts'
import { decoderFor, type Coding } from './content-coding.ts'

/** Coded bytes that may wait to be decoded. */
const MOST_QUEUED = 4 * 1024 * 1024

/** Reads the events of a stream that goes by, whatever its coding; the stream itself is not touched. */
export class SseWatch {
  readonly #framer: SseFramer
  readonly #emit: EmitFrame
  readonly #decoder: Transform | undefined
  readonly #readable: boolean
  #missed: boolean

  constructor(coding: Coding, limit: number, onFrame: EmitFrame) {
    this.#framer = new SseFramer(limit)
    this.#emit = (frame) => {
      if (frame.oversized) this.#missed = true
      else onFrame(frame)
    }
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
    return this.#framer.follow()
  }

  push(chunk: Uint8Array): void {
    const decoder = this.#decoder
    if (decoder === undefined) {
      if (this.#readable) this.#framer.push(chunk, this.#emit)
    } else if (decoder.writableLength > MOST_QUEUED) {
      // The stream itself must not wait for its reading, and memory must not pay for it.
      this.#missed = true
      decoder.destroy()
    } else if (!decoder.destroyed) {
      decoder.write(chunk)
    }
  }

  /** Calls `done` when every event that came has been seen, also of a stream that was cut. */
  end(done: () => void): void {
    if (this.#decoder === undefined || this.#decoder.destroyed) {
      done()
      return
    }
    this.#decoder.once('close', done)
    this.#decoder.end()
    this.#decoder.resume()
  }

  /** Runs outside of anybody's call: what goes wrong here has nobody else to end with. */
  #decoded(chunk: Uint8Array): void {
    try {
      this.#framer.push(chunk, this.#emit)
    } catch {
      this.#missed = true
      this.#decoder?.destroy()
    }
  }
}
