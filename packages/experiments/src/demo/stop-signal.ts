import { interruption } from '#base'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export type StopSignal = (typeof SIGNALS)[number]

/** Resolves with the first signal; the second ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    interruption(1, SIGNALS, (signal) => resolve(signal as StopSignal))
  })
}
