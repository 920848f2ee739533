/** Work on fewer bytes is done at once. */
export const HEAVY = 128 * 1024

/**
 * Does what may take tens of milliseconds, one piece in each turn of the event loop, so that everything
 * else is served in between.
 */
class HeavyWork {
  readonly #waiting: (() => void)[] = []
  #busy = false

  /** Does work on so many bytes, now or soon. */
  do(bytes: number, work: () => void): void {
    if (bytes < HEAVY) {
      work()
      return
    }
    this.#waiting.push(work)
    if (this.#busy) return
    this.#busy = true
    setImmediate(() => this.#next())
  }

  /** Resolves when work on so many bytes may be done; undefined when that is now. */
  turn(bytes: number): Promise<void> | undefined {
    return bytes < HEAVY ? undefined : new Promise((resolve) => this.do(bytes, resolve))
  }

  #next(): void {
    const work = this.#waiting.shift()
    this.#busy = this.#waiting.length > 0
    if (this.#busy) setImmediate(() => this.#next())
    work?.()
  }
}

/** One for the program, as it has one loop. */
export const heavyWork = new HeavyWork()
