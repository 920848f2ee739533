const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls back at a signal to stop. Returns a function that removes the handlers. */
export function onStopSignal(stop: () => void): () => void {
  for (const signal of SIGNALS) process.on(signal, stop)
  return () => {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}
