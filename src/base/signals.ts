/** The longest time between the deliveries of one Ctrl-C, in milliseconds. */
const ONE_PRESS_MS = 250

/** Acts on each of the signals; returns a function that ends that. */
export function onSignals(
  signals: readonly NodeJS.Signals[],
  act: (signal: NodeJS.Signals) => void,
): () => void {
  for (const signal of signals) process.on(signal, act)
  return () => signals.forEach((signal) => process.off(signal, act))
}

/**
 * Acts on each signal to stop. One Ctrl-C may be delivered twice: by the terminal and by npm, which
 * forwards it. That counts once. Returns a function that ends that while no signal was delivered;
 * later the handlers stay, so that a second delivery does not end the process by default.
 */
export function onStopSignals(
  signals: readonly NodeJS.Signals[],
  act: (signal: NodeJS.Signals) => void,
): () => void {
  let last: NodeJS.Signals | undefined
  let lastAt = 0
  const forget = onSignals(signals, (signal) => {
    const at = performance.now()
    if (signal === last && at - lastAt < ONE_PRESS_MS) return
    last = signal
    lastAt = at
    act(signal)
  })
  return () => {
    if (last === undefined) forget()
  }
}

/** Aborts at the first of the signals; the second ends the process with the exit code. */
export function interruption(
  exitCode: number,
  signals: readonly NodeJS.Signals[],
  onFirst?: (signal: NodeJS.Signals) => void,
): { readonly signal: AbortSignal; readonly forget: () => void } {
  const stop = new AbortController()
  const forget = onStopSignals(signals, (signal) => {
    if (stop.signal.aborted) process.exit(exitCode)
    onFirst?.(signal)
    stop.abort()
  })
  return { signal: stop.signal, forget }
}
