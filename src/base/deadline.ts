/** Keeps what a signal needs to abort, for as long as somebody holds the signal. */
const NEEDED = new WeakMap<AbortSignal, AbortSignal>()

/**
 * Returns a signal that aborts after a time, and with another signal. On Node 20 the collector takes
 * an `AbortSignal.timeout` that only `AbortSignal.any` knows, and the time never ends.
 */
export function endingAfter(ms: number, signal: AbortSignal): AbortSignal {
  const limit = AbortSignal.timeout(ms)
  const either = AbortSignal.any([signal, limit])
  NEEDED.set(either, limit)
  return either
}
