/** A timer holds no more than this many milliseconds. */
const MAX_TIMER = 2_147_483_647

/** Half of what a timer can tell apart, in milliseconds. */
const CLOSE_ENOUGH = 0.5

/** The exchange is no longer a fault's to act on: what is under way passes untouched. */
export class TurnOver extends Error {
  readonly code = 'SQUALL_TURN_OVER'

  constructor() {
    super('a fault is to act no more')
  }
}

/** Given when faults are stopped: left out, each stop makes an error with a stack that nobody reads. */
export const TURN_OVER = new TurnOver()

/** Waits; ends early when `wake` is aborted, and rejects when `stop` is. Infinity waits for these alone. */
export function interruptibleWait(ms: number, wake: AbortSignal, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return Promise.reject(new TurnOver())
  if (wake.aborted || !(ms > 0)) return Promise.resolve()
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const settle = (): void => {
      clearTimeout(timer)
      sleepers.get(wake)?.delete(settle)
      sleepers.get(stop)?.delete(settle)
      if (stop.aborted) reject(new TurnOver())
      else resolve()
    }
    const due = performance.now() + ms
    // Timers count whole milliseconds from when the loop last looked at the clock, so that one may
    // fire early: then the rest is waited for, unless that would make it later than it is early.
    const arm = (): void => {
      const left = due - performance.now()
      if (left < CLOSE_ENOUGH) settle()
      else timer = setTimeout(arm, Math.min(Math.round(left), MAX_TIMER))
    }
    sleepersOf(wake).add(settle)
    sleepersOf(stop).add(settle)
    if (ms !== Infinity) arm()
  })
}

/** One listener for all: a signal looks through its listeners for each that is added, and warns of many. */
const sleepers = new WeakMap<AbortSignal, Set<() => void>>()

function sleepersOf(signal: AbortSignal): Set<() => void> {
  const known = sleepers.get(signal)
  if (known !== undefined) return known
  const waiting = new Set<() => void>()
  sleepers.set(signal, waiting)
  const wakeAll = (): void => {
    for (const settle of waiting) settle()
  }
  signal.addEventListener('abort', wakeAll, { once: true })
  return waiting
}
