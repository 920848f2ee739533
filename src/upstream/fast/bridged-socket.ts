import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

/**
 * Presents a connection with a request in flight as a new socket to undici. The first write, which
 * is the request that was sent already, is discarded.
 */
export class BridgedSocket extends Duplex {
  readonly #socket: Socket
  readonly #resume: () => void
  /**
   * Bytes, end or error that arrived before the first write: undici rejects bytes before its
   * request.
   */
  #early: (Buffer | null | Error)[] | undefined = []

  constructor(socket: Socket, resume: () => void) {
    super({ decodeStrings: false, allowHalfOpen: true, emitClose: true })
    this.#socket = socket
    this.#resume = resume
  }

  /** Passes on bytes from the upstream; null is the end of the stream. False asks for a pause. */
  feed(bytes: Buffer | null): boolean {
    if (this.#early === undefined) return this.push(bytes)
    this.#early.push(bytes)
    return true
  }

  /** Reports that the connection has closed, with or without an error. */
  disconnected(error?: Error): void {
    if (this.#early === undefined) this.destroy(error)
    else this.#early.push(error ?? new Error('the upstream closed the connection'))
  }

  override _read(): void {
    this.#resume()
  }

  override _write(
    chunk: string | Buffer,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    const early = this.#early
    if (early !== undefined) {
      this.#early = undefined
      done()
      for (const event of early) {
        // The error waits until the bytes before it are read.
        if (event instanceof Error) setImmediate(() => this.destroy(event))
        else this.push(event)
      }
      return
    }
    if (typeof chunk === 'string') this.#socket.write(chunk, encoding, done)
    else this.#socket.write(chunk, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // 'close' must not come before that of the real socket.
    if (this.#socket.closed) done(error)
    else this.#socket.once('close', () => done(error)).destroy()
  }

  ref(): this {
    this.#socket.ref()
    return this
  }

  unref(): this {
    this.#socket.unref()
    return this
  }
}
