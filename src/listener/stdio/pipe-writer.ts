import type { Writable } from 'node:stream'
import { Valve } from '../../base/valve.ts'

/** Writes to a pipe, whose reader may be slow or gone. */
export class PipeWriter extends Valve {
  /** Resolves when the reader is gone. */
  readonly broken: Promise<void>
  readonly #pipe: Writable
  #isBroken = false

  /** `onDrain` is called when the reader accepts data again. */
  constructor(pipe: Writable, onDrain: () => void = () => undefined) {
    super()
    this.#pipe = pipe
    const { promise, resolve } = withResolver()
    this.broken = promise
    const wake = (): void => {
      this.open()
      onDrain()
    }
    pipe.on('drain', wake)
    const lost = (): void => {
      this.#isBroken = true
      resolve()
      wake()
    }
    pipe.on('error', lost).on('close', lost)
  }

  /** Writes bytes, or drops them when the reader is gone; false asks for a pause. */
  write(bytes: Uint8Array): boolean {
    if (!this.#isBroken && this.#pipe.writable) this.blocked = !this.#pipe.write(bytes)
    return !this.blocked
  }

  /** Resolves when all bytes are written, or the reader is gone. */
  async flushed(): Promise<void> {
    if (this.#isBroken) return
    await Promise.race([
      new Promise<void>((resolve) => this.#pipe.write('', () => resolve())),
      this.broken,
    ])
  }

  end(): void {
    if (!this.#isBroken) this.#pipe.end()
  }
}

/** Returns a promise, and the function that resolves it. */
export function withResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}
