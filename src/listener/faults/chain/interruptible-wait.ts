import { Stop } from './stop.ts'
import { TurnOver } from './turn-over.ts'

/** A timer holds no more than this many milliseconds. */
const MAX_TIMER = 2_147_483_647

/** Half of what a timer can tell apart, in milliseconds. */
const CLOSE_ENOUGH = 0.5

/** Waits; ends early when `wake` is aborted, and rejects when `stop` is. Infinity waits for these alone. */
export function interruptibleWait(
  ms: number,
  wake: AbortSignal,
  stop: AbortSignal | Stop,
): Promise<void> {
  if (stop.aborted) return Promise.reject(new TurnOver())
  if (wake.aborted || !(ms > 0)) return Promise.resolve()
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const wakers = sleepersOf(wake)
    const stoppers = sleepersOf(stop)
    const settle = (): void => {
      clearTimeout(timer)
      wakers.delete(settle)
      stoppers.delete(settle)
      if (stop.aborted) reject(new TurnOver())
      else resolve()
    }
    const due = performance.now() + ms
    // Timers count whole milliseconds from when the loop last looked at the clock, so that one may fire
    // up to one early or late. What is set to end too early is seldom late: then the rest is waited for,
    // unless that would make it later than it is early.
    const arm = (): void => {
      const left = due - performance.now()
      if (left < CLOSE_ENOUGH) settle()
      else timer = setTimeout(arm, Math.min(Math.max(Math.floor(left), 1), MAX_TIMER))
    }
    wakers.add(settle)
    stoppers.add(settle)
    if (ms !== Infinity) arm()
  })
}

/** One listener for all: a signal looks through its listeners for each that is added, and warns of many. */
const sleepers = new WeakMap<AbortSignal, Set<() => void>>()

function sleepersOf(ending: AbortSignal | Stop): Set<() => void> {
  if (ending instanceof Stop) return ending.sleepers
  const known = sleepers.get(ending)
  if (known !== undefined) return known
  const waiting = new Set<() => void>()
  sleepers.set(ending, waiting)
  const wakeAll = (): void => {
    for (const settle of waiting) settle()
  }
  ending.addEventListener('abort', wakeAll, { once: true })
  return waiting
}
