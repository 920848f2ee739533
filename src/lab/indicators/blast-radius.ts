/** The share of tasks that fail when each of their calls fails by itself with probability `e`. */
export function predictedBlastRadius(e: number, callsPerTask: number): number {
  return 1 - (1 - e) ** callsPerTask
}

/** The interval of a measured share. */
export interface Bounds {
  readonly low: number
  readonly high: number
}

/** Where the share of `n` tries lies that succeed with probability `p`, but for `z` deviations. */
export function binomialBounds(p: number, n: number, z: number): Bounds {
  const reach = z * Math.sqrt((p * (1 - p)) / n)
  return { low: Math.max(0, p - reach), high: Math.min(1, p + reach) }
}
