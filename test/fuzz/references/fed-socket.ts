import { Duplex } from 'node:stream'

/**
 * A connection without a network: what is fed is read at once, and what is written goes nowhere.
 */
export class FedSocket extends Duplex {
  readonly #fed: Buffer[] = []

  /** Bytes for a reader that listens to `data`. */
  feedData(bytes: Buffer): void {
    this.emit('data', bytes)
  }

  /** Bytes for a reader that calls `read` when it is notified. */
  feedReadable(bytes: Buffer): void {
    this.#fed.push(bytes)
    this.emit('readable')
  }

  override read(): Buffer | null {
    return this.#fed.shift() ?? null
  }

  override unshift(chunk: Buffer): void {
    if (chunk.length > 0) this.#fed.unshift(chunk)
  }

  override _read(): void {
    // Nothing comes but what is fed.
  }

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done()
  }
}
