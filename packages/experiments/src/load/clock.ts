import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Measures and passes the time of a load, in milliseconds. */
export interface Clock {
  now(): number
  /** Resolves after the time, or when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Lets responses arrive. */
  turn(): Promise<void>
}

export const REAL_TIME: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
  turn: () => nextTurn(),
}
