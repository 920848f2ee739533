import { setMaxListeners } from 'node:events'

/** Signals that end a load early. */
export interface StopSignals {
  /** Stops new tasks. */
  readonly stop?: AbortSignal | undefined
  /** Cuts calls that are in flight. */
  readonly cut?: AbortSignal | undefined
}

/**
 * Ends a load in two steps: new tasks stop, and later in-flight calls are cut. Without a limit,
 * in-flight calls run until their own timeout.
 */
export function gracefulStop(limitMs: number | undefined, signals: StopSignals) {
  const stop: AbortSignal = signals.stop ?? new AbortController().signal
  const late = new AbortController()
  /** Aborted when in-flight calls are cut. */
  const cut: AbortSignal =
    signals.cut === undefined ? late.signal : AbortSignal.any([late.signal, signals.cut])
  // Each call in flight adds a listener.
  setMaxListeners(0, stop, cut)
  let endsAt = Infinity
  let cutAt = Infinity
  let timer: NodeJS.Timeout | undefined
  const endIn = (ms: number): void => {
    const at = performance.now() + ms
    if (at >= endsAt) return
    endsAt = at
    if (limitMs === undefined) return
    cutAt = at + limitMs
    clearTimeout(timer)
    timer = setTimeout(() => late.abort(), ms + limitMs)
  }
  const onStop = (): void => endIn(0)
  return {
    stop,
    cut,
    /** Starts the time in which tasks may begin. */
    begin: (durationMs: number | undefined): void => {
      if (durationMs !== undefined) endIn(durationMs)
      if (stop.aborted) onStop()
      stop.addEventListener('abort', onStop, { once: true })
    },
    /** Returns the remaining wait for in-flight calls; undefined while tasks still begin. */
    waitsMs: (): number | undefined => {
      const now = performance.now()
      return now < endsAt ? undefined : Math.max(0, cutAt - now)
    },
    /** Releases the timer and the listener. */
    release: (): void => {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    },
  }
}
