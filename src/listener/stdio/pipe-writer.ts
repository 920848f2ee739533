import type { Writable } from 'node:stream'

/** Writes to a pipe, whose reader may be slow or gone. */
export class PipeWriter {
  /** Resolves when the reader is gone. */
  readonly broken: Promise<void>
  readonly #pipe: Writable
  #isBroken = false
  #waiting: (() => void)[] = []

  /** `onDrain` is called when the reader accepts data again. */
  constructor(pipe: Writable, onDrain: () => void = () => undefined) {
    this.#pipe = pipe
    const { promise, resolve } = withResolver()
    this.broken = promise
    const wake = (): void => {
      for (const go of this.#waiting.splice(0)) go()
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

  /** True while the reader accepts no more data. */
  get blocked(): boolean {
    return !this.#isBroken && this.#pipe.writableNeedDrain
  }

  /** Writes bytes, or drops them when the reader is gone; false asks for a pause. */
  write(bytes: Uint8Array): boolean {
    if (!this.#isBroken && this.#pipe.writable) this.#pipe.write(bytes)
    return !this.blocked
  }

  /** Resolves when the reader accepts data or is gone; undefined when no wait is needed. */
  ready(): Promise<void> | undefined {
    return this.blocked ? new Promise((resolve) => this.#waiting.push(resolve)) : undefined
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
