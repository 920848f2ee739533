import { Chain, type Link } from '../../../base/linked-list.ts'

/** Rejects further actions of a fault after its end; pending messages continue unchanged. */
export class FaultStopped extends Error {
  readonly code = 'SQUALL_FAULT_STOPPED'

  constructor() {
    super('the fault must stop')
  }
}

/** The reason of all aborts, shared because a new error for each abort would collect a stack. */
const FAULT_STOPPED = new FaultStopped()

/** A wait that ends early when its list wakes all. */
interface Sleeper extends Link<Sleeper> {
  readonly wake: () => void
}

/**
 * The waits on one signal. Not a Set, which keeps a table for each time that it grew or shrank, and
 * with it the calls that waited then, until the next major garbage collection.
 */
class Sleepers extends Chain<Sleeper> {
  addWake(wake: () => void): Sleeper {
    const sleeper = { wake, newer: undefined, older: undefined }
    this.add(sleeper)
    return sleeper
  }

  /** Wakes all; each removes itself. */
  wakeAll(): void {
    for (let next = this.oldest; next !== undefined; next = this.oldest) next.wake()
  }
}

/**
 * Stops faults like an AbortController, at a tenth of its cost: every exchange with a matched rule
 * has one. A signal is created on demand.
 */
export class Stop extends Sleepers {
  /** Set by `abort` alone. */
  aborted = false
  #controller: AbortController | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort(FAULT_STOPPED)
    return this.#controller.signal
  }

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    this.wakeAll()
    this.#controller?.abort(FAULT_STOPPED)
  }
}

/** The longest delay of a timer, in milliseconds. */
const MAX_TIMER = 2_147_483_647

/** Half of a timer's resolution, in milliseconds. */
const CLOSE_ENOUGH = 0.5

/**
 * Waits for `ms` milliseconds; resolves early when `wake` aborts, and rejects when `stop` aborts.
 * Infinity waits for the signals only.
 */
export function interruptibleWait(
  ms: number,
  wake: AbortSignal,
  stop: AbortSignal | Stop,
): Promise<void> {
  if (stop.aborted) return Promise.reject(new FaultStopped())
  if (wake.aborted || !(ms > 0)) return Promise.resolve()
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const wakers = sleepersOf(wake)
    const stoppers = sleepersOf(stop)
    const settle = (): void => {
      clearTimeout(timer)
      wakers.remove(waker)
      stoppers.remove(stopper)
      if (stop.aborted) reject(new FaultStopped())
      else resolve()
    }
    const due = performance.now() + ms
    // Timers count whole milliseconds from the loop's last reading of the clock, and fire up to 1
    // ms early or late. The timer is set too early, and the rest is waited for, unless that would
    // end later than now is early.
    const arm = (): void => {
      const left = due - performance.now()
      if (left < CLOSE_ENOUGH) settle()
      else timer = setTimeout(arm, Math.min(Math.max(Math.floor(left), 1), MAX_TIMER))
    }
    const waker = wakers.addWake(settle)
    const stopper = stoppers.addWake(settle)
    if (ms !== Infinity) arm()
  })
}

/**
 * Shares one listener per signal: a signal scans its listeners for each added one, and warns of
 * many.
 */
const sleepers = new WeakMap<AbortSignal, Sleepers>()

function sleepersOf(ending: AbortSignal | Stop): Sleepers {
  if (ending instanceof Stop) return ending
  const known = sleepers.get(ending)
  if (known !== undefined) return known
  const waiting = new Sleepers()
  sleepers.set(ending, waiting)
  ending.addEventListener('abort', () => waiting.wakeAll(), { once: true })
  return waiting
}
