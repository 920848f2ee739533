import type { CallBounds } from './load-client.ts'

/** One signal for all that ends an attempt early. */
export interface CallLimit {
  readonly signal: AbortSignal
  /** True when its time was over. */
  readonly late: boolean
  /** Forgets the timer and the run; to be called whatever came of the attempt. */
  release(): void
}

/** Bounds an attempt by its time and by the end of the run. */
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
