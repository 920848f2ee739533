/** When a rule is in force, in milliseconds since the epoch. */
export interface WindowConfig {
  readonly from?: number | undefined
  readonly until?: number | undefined
  /** Milliseconds, counted from when the rule came into force, and not before `from`. */
  readonly for?: number | undefined
}

/** When the rule begins to act, given when it came into force. */
export function windowStart(config: WindowConfig, since: number): number {
  return config.from !== undefined && config.from > since ? config.from : since
}

/** When the rule acts no more; Infinity when it has no end. */
export function windowEnd(config: WindowConfig, since: number): number {
  const end = config.for === undefined ? Infinity : windowStart(config, since) + config.for
  return config.until !== undefined && config.until < end ? config.until : end
}
