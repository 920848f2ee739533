import type { CallBounds } from './load-client.ts'

export interface CallLimit {
  readonly signal: AbortSignal
  /** True when the attempt timed out. */
  readonly late: boolean
  /** Releases the timer and the listener; must be called at the end of the attempt. */
  release(): void
}

/** Aborts an attempt at its timeout or at the end of the run. */
export function limitCall({ timeoutMs, signal }: CallBounds): CallLimit {
  const controller = new AbortController()
  const giveUp = (): void => controller.abort()
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  let late = false
  const timer = setTimeout(() => {
    late = true
    giveUp()
  }, timeoutMs)
  return {
    signal: controller.signal,
    get late() {
      return late
    },
    release: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
    },
  }
}
