const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Calls back when the process is told to stop; the result lets go again. */
export function onStopSignal(stop: () => void): () => void {
  for (const signal of SIGNALS) process.on(signal, stop)
  return () => {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}
