import { Fifo } from '../base/fifo.ts'

/** Work on fewer bytes is done at once. */
export const HEAVY = 128 * 1024

/**
 * Does what may take tens of milliseconds, one piece in each turn of the event loop, so that everything
 * else is served in between.
 */
class HeavyWork {
  readonly #waiting = new Fifo<() => void>()

  /** Does work on so many bytes, now or soon. */
  do(bytes: number, work: () => void): void {
    if (bytes < HEAVY) {
      work()
      return
    }
    if (this.#waiting.length === 0) setImmediate(() => this.#next())
    this.#waiting.push(work)
  }

  /** Resolves when work on so many bytes may be done; undefined when that is now. */
  turn(bytes: number): Promise<void> | undefined {
    return bytes < HEAVY ? undefined : new Promise((resolve) => this.do(bytes, resolve))
  }

  #next(): void {
    const work = this.#waiting.shift()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
    work?.()
  }
}

/** One for the program, as it has one loop. */
export const heavyWork = new HeavyWork()

/** Does pieces of work in the order in which they come: a heavy one in a turn of its own. */
export class OrderedWork {
  readonly #waiting = new Fifo<{ readonly bytes: number; readonly work: () => void }>()
  readonly #caughtUp: () => void

  /** `caughtUp` is called when nothing waits any more. */
  constructor(caughtUp: () => void = () => undefined) {
    this.#caughtUp = caughtUp
  }

  /** True while work waits, or is being done that had to wait. */
  get busy(): boolean {
    return this.#waiting.length > 0
  }

  /** Does work on so many bytes: now, or when its turn has come. */
  do(bytes: number, work: () => void): void {
    if (bytes < HEAVY && !this.busy) {
      work()
      return
    }
    this.#waiting.push({ bytes, work })
    if (this.#waiting.length === 1) heavyWork.do(HEAVY, () => this.#next())
  }

  #next(): void {
    do {
      this.#waiting.first!.work()
      this.#waiting.shift()
    } while (this.busy && this.#waiting.first!.bytes < HEAVY)
    if (this.busy) heavyWork.do(HEAVY, () => this.#next())
    else this.#caughtUp()
  }
}
