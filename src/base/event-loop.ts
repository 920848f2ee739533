import { Fifo } from './fifo.ts'

/** Work on fewer bytes runs at once. */
export const HEAVY = 128 * 1024

/** The bytes that may wait for work: a saturated sidecar reads them within a fraction of a second. */
const MOST_WAITING = 8 * 1024 * 1024
/** The time for heavy work in one iteration of the event loop, in milliseconds. */
const HEAVY_SHARE = 4

interface Heavy {
  readonly bytes: number
  readonly work: () => void
  /** True when the work goes on in a promise, so that its time is not known. */
  readonly isWait: boolean
}

/**
 * Runs work that may take tens of milliseconds in a share of each iteration of the event loop, so
 * that other events are served in between.
 */
class HeavyWork {
  readonly #waiting = new Fifo<Heavy>()
  #bytes = 0
  #isScheduled = false

  /** True while the waiting bytes exceed the limit: no more should arrive. */
  get full(): boolean {
    return this.#bytes > MOST_WAITING
  }

  /** Runs work on `bytes` bytes, at once or later. */
  run(bytes: number, work: () => void): void {
    if (bytes < HEAVY) work()
    else this.later(bytes, work)
  }

  /** Resolves when work on `bytes` bytes may run; returns undefined when it may run at once. */
  wait(bytes: number): Promise<void> | undefined {
    if (bytes < HEAVY) return undefined
    return new Promise((resolve) => this.later(bytes, resolve, true))
  }

  /** Runs work in a later iteration, or later in this one. */
  later(bytes: number, work: () => void, isWait = false): void {
    this.#waiting.push({ bytes, work, isWait })
    this.#bytes += bytes
    this.#schedule()
  }

  /** Counts bytes that wait elsewhere; a negative number ends their wait. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => this.#next())
  }

  #next(): void {
    this.#isScheduled = false
    const until = performance.now() + HEAVY_SHARE
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#bytes -= next.bytes
        next.work()
        if (next.isWait || performance.now() >= until) return
      }
    } finally {
      this.#schedule()
    }
  }
}

/** Shared by the process, which has one event loop. */
export const heavyWork = new HeavyWork()

/** Runs pieces of work in order, heavy ones when the event loop has time for them. */
export class OrderedWork {
  readonly #waiting = new Fifo<{ readonly bytes: number; readonly work: () => void }>()
  readonly #onIdle: () => void
  /** The bytes that wait. */
  bytes = 0

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
    this.#count(bytes)
    if (this.#waiting.length === 1) heavyWork.later(0, () => this.#next())
  }

  #next(): void {
    do {
      const { bytes, work } = this.#waiting.first!
      work()
      this.#waiting.shift()
      this.#count(-bytes)
    } while (this.busy && this.#waiting.first!.bytes < HEAVY)
    if (this.busy) heavyWork.later(0, () => this.#next())
    else this.#onIdle()
  }

  #count(bytes: number): void {
    this.bytes += bytes
    heavyWork.count(bytes)
  }
}

/** Responses that arrive no faster than they are read, oldest first. */
class Crowd {
  readonly #waiting: { readonly order: number; readonly resume: () => void }[] = []
  #order = 0

  /** Returns the place of a response that waits for the first time. */
  enter(): number {
    return ++this.#order
  }

  /** Calls `resume` in a later iteration: each continues one, so that the oldest is complete first. */
  wait(order: number, resume: () => void): void {
    const waiting = this.#waiting
    if (waiting.length === 0) setImmediate(() => this.#next())
    let at = waiting.length
    // Few are younger than one that waits again.
    while (at > 0 && waiting[at - 1]!.order > order) at--
    waiting.splice(at, 0, { order, resume })
  }

  #next(): void {
    const first = this.#waiting.shift()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
    first?.resume()
  }
}

/** Shared by the process, which has one memory. */
export const crowd = new Crowd()

/** The pieces of a response that are processed before other calls are served. */
export const SLICE = 64

/**
 * Resolves in a later iteration of the event loop. One waiter continues per iteration, so that
 * other calls wait for one slice of work, however many responses are processed.
 */
export function nextLoop(): Promise<void> {
  return new Promise((resolve) => heavyWork.later(0, resolve, true))
}

/** The time for responses in one iteration of the event loop, in milliseconds. */
const SHARE = 8
/** Shorter times are added up over iterations: a reset for each would cost more than they do. */
const MOMENT = 0.05

let spent = 0
let isResetScheduled = false

function resetShare(): void {
  spent = 0
  isResetScheduled = false
}

/**
 * Counts synchronous time of a response; returns true when the share of this iteration is used up.
 */
export function spendShare(time: number): boolean {
  spent += time
  if (spent >= MOMENT && !isResetScheduled) {
    isResetScheduled = true
    setImmediate(resetShare)
  }
  return isShareUsed()
}

/**
 * Returns a function to call after each step of a loop: its promise resolves in a later iteration
 * when the share of this one is used up.
 */
export function pacedLoop(): () => Promise<void> | undefined {
  let begun = performance.now()
  return () => {
    const now = performance.now()
    if (now - begun < MOMENT) return undefined
    const isUsed = spendShare(now - begun)
    begun = now
    return isUsed ? nextLoop().then(() => void (begun = performance.now())) : undefined
  }
}

/** Returns true when the share of this iteration is used up. */
export function isShareUsed(): boolean {
  return spent > SHARE
}

/** The bytes of upstreams that may wait for their share; beyond them they are read at once. */
const MOST_DEFERRED = 8 * 1024 * 1024
let deferred = 0

/**
 * Calls `act` when responses have time again, if the share of this iteration is used up: the
 * connections that are ready at the same time are all read before a pause can stop them. Returns
 * false when the bytes may be processed at once.
 */
export function deferRead(bytes: number, act: () => void): boolean {
  if (!isShareUsed() || deferred + bytes > MOST_DEFERRED) return false
  deferred += bytes
  // Each has an immediate of its own: undici parses in the ticks between them.
  const turn = (): void => {
    if (isShareUsed()) {
      setImmediate(turn)
      return
    }
    deferred -= bytes
    act()
  }
  setImmediate(turn)
  return true
}

/** Continues input that waits for its share of an iteration, in order. */
class InputTurns {
  /** Input of connections without an open request, whose clients wait for nothing else. */
  readonly #first = new Fifo<() => void>()
  readonly #later = new Fifo<() => void>()

  /** Calls `act` in a turn; `isFirst` puts it before the others. */
  add(act: () => void, isFirst: boolean): void {
    if (this.#first.length + this.#later.length === 0) setImmediate(() => this.#next())
    const turns = isFirst ? this.#first : this.#later
    turns.push(act)
  }

  #next(): void {
    const { length } = this.#first
    for (let count = length + this.#later.length; count > 0 && !isShareUsed(); count--) {
      const act = this.#first.shift() ?? this.#later.shift()
      act?.()
    }
    if (this.#first.length + this.#later.length > 0) setImmediate(() => this.#next())
  }
}

/** Shared by the process, which has one event loop. */
export const inputTurns = new InputTurns()
