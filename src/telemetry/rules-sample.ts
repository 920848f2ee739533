/** What a rule of some name came to since the process began. */
export interface RuleSample {
  readonly name: string
  /** Whether a rule of this name is active. */
  readonly isActive: boolean
  readonly active: number
  /** How many calls matched, how many were sampled, and how each of them ended, by result. */
  readonly counts: Readonly<Record<string, number>>
}

/** The version of the active rules. */
export interface RulesVersionSample {
  readonly digest: string
  readonly generation: number
}

/** The rules as a scrape shows them: plain data, so that metrics need to know nothing of rules. */
export interface RulesSample {
  readonly rules: readonly RuleSample[]
  /** Whether rules may act. */
  readonly armed: boolean
  /** Everything that may disarm rules, by one word, and whether it does right now. */
  readonly disarmed: Readonly<Record<string, boolean>>
  /** Undefined before there was one. */
  readonly isActive: RulesVersionSample | undefined
  /** Header values by which callers asked for faults, and that could not be read. */
  readonly ignoredHeaders?: number | undefined
  /** Rules whose times count from the start of the sidecar. */
  readonly unanchored: number
  /** The version that was seen last, taken or refused; seconds since the epoch. */
  readonly lastReload: { readonly taken: boolean; readonly at: number } | undefined
}

/** Asked for the rules at each scrape. */
export type RulesSource = () => RulesSample
