import type { RunningLoad } from '../../lab/load/run-load.ts'

/** Exit code that shells use for a program that Ctrl-C ended. */
export const INTERRUPTED = 130

/** Ctrl-C and SIGTERM, as a load takes them. */
export interface Interruption {
  /** Aborted by the first one: no further tasks begin. */
  readonly stop: AbortSignal
  /** Aborted by the second one, or by the first one where tasks no longer begin: what is under way is cut. */
  readonly cut: AbortSignal
  /** From here on there is a result to keep; before, the first one ends the program. */
  begun(run: Pick<RunningLoad, 'waitsMs'>): void
  forget(): void
}

/** Listens to them; the third one ends the program. `onStop` is called at the first one. */
export function interruption(onStop: () => void): Interruption {
  const stop = new AbortController()
  const cut = new AbortController()
  let running: Pick<RunningLoad, 'waitsMs'> | undefined
  const onSignal = (): void => {
    if (running === undefined || cut.signal.aborted) process.exit(INTERRUPTED)
    if (running.waitsMs() === undefined) onStop()
    else cut.abort()
    stop.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    stop: stop.signal,
    cut: cut.signal,
    begun(run) {
      running = run
    },
    forget() {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
