import { Fifo } from '../base/fifo.ts'

/** Work on fewer bytes runs at once. */
export const HEAVY = 128 * 1024

/**
 * Runs work that may take tens of milliseconds, one piece per iteration of the event loop, so that
 * other events are served in between.
 */
class HeavyWork {
  readonly #waiting = new Fifo<() => void>()

  /** Runs work on `bytes` bytes, at once or later. */
  run(bytes: number, work: () => void): void {
    if (bytes < HEAVY) {
      work()
      return
    }
    if (this.#waiting.length === 0) setImmediate(() => this.#next())
    this.#waiting.push(work)
  }

  /** Resolves when work on `bytes` bytes may run; returns undefined when it may run at once. */
  wait(bytes: number): Promise<void> | undefined {
    return bytes < HEAVY ? undefined : new Promise((resolve) => this.run(bytes, resolve))
  }

  #next(): void {
    const work = this.#waiting.shift()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
    work?.()
  }
}

/** Shared by the process, which has one event loop. */
export const heavyWork = new HeavyWork()

/** Runs pieces of work in order, heavy ones each in a separate iteration of the event loop. */
export class OrderedWork {
  readonly #waiting = new Fifo<{ readonly bytes: number; readonly work: () => void }>()
  readonly #onIdle: () => void

  /** `onIdle` is called when no work waits any more. */
  constructor(onIdle: () => void = () => undefined) {
    this.#onIdle = onIdle
  }

  /** True while work waits, or work that waited is running. */
  get busy(): boolean {
    return this.#waiting.length > 0
  }

  /** Runs work on `bytes` bytes, at once or after the earlier work. */
  run(bytes: number, work: () => void): void {
    if (bytes < HEAVY && !this.busy) {
      work()
      return
    }
    this.#waiting.push({ bytes, work })
    if (this.#waiting.length === 1) heavyWork.run(HEAVY, () => this.#next())
  }

  #next(): void {
    do {
      this.#waiting.first!.work()
      this.#waiting.shift()
    } while (this.busy && this.#waiting.first!.bytes < HEAVY)
    if (this.busy) heavyWork.run(HEAVY, () => this.#next())
    else this.#onIdle()
  }
}

/** The pieces of a response that are processed before other calls are served. */
export const SLICE = 64

/**
 * Resolves in a later iteration of the event loop. One waiter continues per iteration, so that
 * other calls wait for one slice of work, however many responses are processed.
 */
export function nextLoop(): Promise<void> {
  return new Promise((resolve) => heavyWork.run(HEAVY, resolve))
}

/** The time for responses in one iteration of the event loop, in milliseconds. */
const SHARE = 8
/** Shorter times, which are nearly all, are not counted. */
const MOMENT = 0.05

let spent = 0

function resetShare(): void {
  spent = 0
}

/**
 * Counts synchronous time of a response; returns true when the share of this iteration is used up.
 */
export function spendShare(time: number): boolean {
  if (time >= MOMENT) {
    if (spent === 0) setImmediate(resetShare)
    spent += time
  }
  return spent > SHARE
}
