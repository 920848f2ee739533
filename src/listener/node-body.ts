import type { IncomingMessage } from 'node:http'
import type { HeaderLines } from '../mcp/http.ts'
import type { Body, StreamBody } from '../mcp/transfer.ts'
import type { IncomingBody } from './exchange.ts'
import { HoldWatch } from './hold-watch.ts'

const EMPTY = new Uint8Array(0)

/** Reads a request's body from node:http. */
export class NodeBody implements IncomingBody {
  readonly #req: IncomingMessage
  /** Declared length; undefined means chunked. */
  readonly #length: number | undefined
  /** Called when bytes are wanted, so that a client that waits for `100 Continue` sends them. */
  readonly #wanted: () => void
  #chunks: Uint8Array[] = []
  #size = 0
  #seenBytes = -1
  #seenAt = 0
  #collecting = false
  #hold: HoldWatch | undefined
  whole: boolean

  constructor(req: IncomingMessage, length: number | undefined, wanted: () => void) {
    this.#req = req
    this.#length = length
    this.#wanted = wanted
    this.whole = length === 0
  }

  get arrived(): boolean {
    return this.whole || this.#req.complete
  }

  collect(limit: number, done: (bytes: Uint8Array | null) => void): void {
    if (this.whole) return done(EMPTY)
    if (this.#length !== undefined && this.#length > limit) return done(null)
    this.#wanted()
    this.#collecting = true
    const req = this.#req
    const onData = (chunk: Uint8Array): void => {
      this.#chunks.push(chunk)
      this.#size += chunk.length
      if (this.#size <= limit) return
      req.off('data', onData).off('end', onEnd)
      req.pause()
      this.#collecting = false
      done(null)
    }
    const onEnd = (): void => {
      this.whole = true
      this.#collecting = false
      done(this.#joined())
    }
    req.on('data', onData).once('end', onEnd)
  }

  get kept(): Uint8Array | undefined {
    return this.whole ? this.#joined() : undefined
  }

  forSending(): Body {
    if (this.#length === 0) return null
    if (this.whole && this.#length !== undefined) return this.#joined()
    if (!this.whole) this.#wanted()
    return this.#stream()
  }

  /** How long the client has sent nothing, in the clock of the caller. */
  stalledFor(now: number): number {
    const req = this.#req
    if (req.complete || req.destroyed) {
      this.whole = true
      return 0
    }
    const bytes = req.socket.bytesRead
    // Bytes that wait here to be taken are not the client's delay.
    if (bytes !== this.#seenBytes || req.readableLength > 0 || req.socket.isPaused()) {
      this.#seenBytes = bytes
      this.#seenAt = now
    }
    return now - this.#seenAt
  }

  heldTooLong(now: number, timeout: number): boolean {
    if (!this.#collecting) return false
    this.#hold ??= new HoldWatch()
    return this.#hold.tooLong(this.#req.socket, now, timeout)
  }

  /** Ends the client's connection. */
  destroy(): void {
    this.#req.socket.destroy()
  }

  #joined(): Uint8Array {
    if (this.#chunks.length === 1) return this.#chunks[0]!
    if (this.#chunks.length === 0) return EMPTY
    const joined = Buffer.concat(this.#chunks, this.#size)
    if (this.#length !== undefined) this.#chunks = [joined]
    return joined
  }

  #stream(): StreamBody {
    const req = this.#req
    const chunks = this.#chunks
    const whole = this.whole
    return {
      length: this.#length,
      trailers: (): HeaderLines => req.rawTrailers,
      async *[Symbol.asyncIterator]() {
        yield* chunks
        if (whole) return
        chunks.length = 0
        // Leaving the loop early must not end the client's connection: its answer may be on the way.
        yield* req.iterator({ destroyOnReturn: false })
      },
    }
  }
}
