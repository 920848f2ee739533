const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export type StopSignal = (typeof SIGNALS)[number]

/** Resolves with the first signal; the second ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve(signal)
      })
    }
  })
}
