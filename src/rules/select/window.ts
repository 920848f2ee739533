/** When a rule is active, in milliseconds since the epoch. */
export interface WindowConfig {
  readonly from?: number | undefined
  readonly until?: number | undefined
  /** Milliseconds, counted from when the rule became active, and not before `from`. */
  readonly for?: number | undefined
}

/** Clocks that differ by no more are taken for the same. */
const MAX_SKEW = 5 * 60_000

/**
 * Returns what the times of a rule count from: when it was applied, where that was written, and when
 * it was first seen otherwise. A time a little ahead of this clock counts as now; one further ahead
 * is awaited.
 */
export function ruleStart(appliedAt: number | undefined, now: number): number {
  if (appliedAt === undefined) return now
  return appliedAt > now && appliedAt - now <= MAX_SKEW ? now : appliedAt
}

/** When the rule begins to act, given when it became active. */
export function windowStart(config: WindowConfig, since: number): number {
  return config.from !== undefined && config.from > since ? config.from : since
}

/** When the rule acts no more; Infinity when it has no end. */
export function windowEnd(config: WindowConfig, since: number): number {
  const end = config.for === undefined ? Infinity : windowStart(config, since) + config.for
  return config.until !== undefined && config.until < end ? config.until : end
}
