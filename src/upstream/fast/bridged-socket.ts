import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

/**
 * A connection on which a request is under way already, as its next reader sees it. The request that
 * this reader writes at first is the one that was sent, and goes nowhere.
 */
export class BridgedSocket extends Duplex {
  readonly #socket: Socket
  readonly #wanted: () => void
  /** What came before the reader has written: it would take that for bytes that nobody asked for. */
  #early: (Buffer | null | Error)[] | undefined = []

  constructor(socket: Socket, wanted: () => void) {
    super({ decodeStrings: false, allowHalfOpen: true, emitClose: true })
    this.#socket = socket
    this.#wanted = wanted
  }

  /** Takes what came from the app; null is its end. False asks for a pause. */
  feed(bytes: Buffer | null): boolean {
    if (this.#early === undefined) return this.push(bytes)
    this.#early.push(bytes)
    return true
  }

  /** The connection is over, by an error or not. */
  over(error?: Error): void {
    if (this.#early === undefined) this.destroy(error)
    else this.#early.push(error ?? new Error('the app closed the connection'))
  }

  override _read(): void {
    this.#wanted()
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
      for (const given of early) {
        // What came before an error is read before it.
        if (given instanceof Error) setImmediate(() => this.destroy(given))
        else this.push(given)
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
    // As of the connection itself, which closes a moment later.
    if (this.#socket.closed) done(error)
    else this.#socket.once('close', () => done(error)).destroy()
  }

  /** As of a socket. */
  ref(): this {
    this.#socket.ref()
    return this
  }

  /** As of a socket. */
  unref(): this {
    this.#socket.unref()
    return this
  }
}
