import { onStopSignals } from '../../base/signals.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export type StopSignal = (typeof SIGNALS)[number]

/** Resolves with the first signal; the second ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let asked = false
    onStopSignals(SIGNALS, (signal) => {
      if (asked) process.exit(1)
      asked = true
      resolve(signal as StopSignal)
    })
  })
}
