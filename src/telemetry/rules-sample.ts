/** Counts of a rule name since the process began. */
export interface RuleSample {
  readonly name: string
  /** True when the active rules have a rule of this name. */
  readonly isActive: boolean
  readonly active: number
  /** Matched calls, sampled calls, and the results of both, by name. */
  readonly counts: Readonly<Record<string, number>>
}

/** Identifies a version of the rules. */
export interface RulesVersionSample {
  readonly digest: string
  readonly generation: number
  readonly seed: string
}

/** Describes the rules at a scrape in plain data, so that telemetry does not depend on `rules`. */
export interface RulesSample {
  readonly rules: readonly RuleSample[]
  readonly armed: boolean
  /** Maps each reason that can disarm the rules to true while it does. */
  readonly disarmed: Readonly<Record<string, boolean>>
  /** The version of the active rules; undefined before the first. */
  readonly version: RulesVersionSample | undefined
  /** The time by which rules start and end, in milliseconds since the epoch. */
  readonly clock?: number
  /** Number of header values that asked for faults and could not be read. */
  readonly ignoredHeaders?: number | undefined
  /** Number of rules whose times count from the start of the sidecar. */
  readonly unanchored: number
  /** The last version that was read; `at` in seconds since the epoch. */
  readonly lastReload: { readonly applied: boolean; readonly at: number } | undefined
}

/** Returns the rules at a scrape. */
export type RulesSource = () => RulesSample
