import type { Transform } from 'node:stream'
import type { SseFrame } from '../mcp/sse-framer.ts'
import { SseFramer } from '../mcp/sse-framer.ts'
import { decoderFor, type Coding } from './content-coding.ts'

/** Reads the events of a stream that goes by, whatever its coding; the stream itself is not touched. */
export class SseWatch {
  readonly #framer: SseFramer
  readonly #onFrame: (frame: SseFrame) => void
  readonly #decoder: Transform | undefined
  readonly #readable: boolean

  constructor(coding: Coding, limit: number, onFrame: (frame: SseFrame) => void) {
    this.#framer = new SseFramer(limit)
    this.#onFrame = onFrame
    this.#readable = coding !== 'unknown'
    this.#decoder = decoderFor(coding)
    this.#decoder?.on('data', (chunk: Uint8Array) => this.#framer.push(chunk, this.#onFrame))
    // A damaged stream is the client's to complain about: here it only ends the reading.
    this.#decoder?.on('error', () => undefined)
  }

  push(chunk: Uint8Array): void {
    if (this.#decoder !== undefined) this.#decoder.write(chunk)
    else if (this.#readable) this.#framer.push(chunk, this.#onFrame)
  }

  /** Calls `done` when every event that came has been seen. */
  end(done: () => void): void {
    if (this.#decoder === undefined || this.#decoder.destroyed) {
      done()
      return
    }
    this.#decoder.once('close', done)
    this.#decoder.end()
    this.#decoder.resume()
  }

  /** Lets go of the decoder when the stream was cut. */
  drop(): void {
    this.#decoder?.destroy()
  }
}
