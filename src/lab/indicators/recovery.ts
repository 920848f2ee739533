/** The state of a gate at one time. Times are of one clock, in milliseconds. */
export interface GateSample {
  readonly at: number
  readonly broken: boolean
}

/** The times until a failure was detected, and until it was gone. */
export interface Recovery {
  /** From the injection to the first breach seen; undefined when none was. */
  readonly detectMs: number | undefined
  /** From the injection to steady state again; undefined when it never came, or was never left. */
  readonly recoverMs: number | undefined
}

/**
 * Times to detect and to recover, from samples in the order of time. Steady again means unbroken
 * from some sample on, for at least `steadyForMs` and to the last sample.
 */
export function recoveryOf(
  samples: readonly GateSample[],
  injectedAt: number,
  steadyForMs = 0,
): Recovery {
  const after = samples.filter(({ at }) => at >= injectedAt)
  const first = after.find(({ broken }) => broken)
  if (first === undefined) return { detectMs: undefined, recoverMs: undefined }
  const lastBroken = after.findLastIndex(({ broken }) => broken)
  const steady = after[lastBroken + 1]
  const held = steady !== undefined && after.at(-1)!.at - steady.at >= steadyForMs
  return {
    detectMs: first.at - injectedAt,
    recoverMs: held ? steady.at - injectedAt : undefined,
  }
}
