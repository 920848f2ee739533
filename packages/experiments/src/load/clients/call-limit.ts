import type { CallBounds } from './load-client.ts'

/** Aborts an attempt at its timeout or at the end of the run. */
export function limitCall({ timeoutMs, signal }: CallBounds) {
  const controller = new AbortController()
  const ends: AbortSignal = controller.signal
  const giveUp = (): void => controller.abort()
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  let late = false
  const timer = setTimeout(() => {
    late = true
    giveUp()
  }, timeoutMs)
  return {
    signal: ends,
    /** True when the attempt timed out. */
    get late() {
      return late
    },
    /** Releases the timer and the listener; must be called at the end of the attempt. */
    release: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    },
  }
}
