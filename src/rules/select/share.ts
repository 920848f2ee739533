/** The share of the calls that a rule samples, over the time that it is active. Shares are 0 to 1. */
export interface ShareConfig {
  readonly share: number
  /** Rises in a straight line from `share` to `to` within `over` milliseconds. */
  readonly ramp?: { readonly to: number; readonly over: number } | undefined
  /** One after the other, `each` milliseconds each; the last one stays. */
  readonly stages?: { readonly shares: readonly number[]; readonly each: number } | undefined
}

/** The share after `elapsed` milliseconds active. */
export function shareAt(config: ShareConfig, elapsed: number): number {
  const { share, ramp, stages } = config
  if (stages !== undefined) {
    const last = stages.shares.length - 1
    const stage = stages.each > 0 ? Math.floor(Math.max(0, elapsed) / stages.each) : last
    return stages.shares[Math.min(stage, last)] ?? share
  }
  if (ramp === undefined) return share
  if (elapsed >= ramp.over) return ramp.to
  return elapsed <= 0 ? share : share + (ramp.to - share) * (elapsed / ramp.over)
}
