import type { Loose, MatchSpec } from './match-spec.ts'
import type { Rule, RulesFile } from './schema.ts'

/** One validated rule: with defaults, durations in milliseconds, shares in percent. */
export interface RuleSpec extends Loose<Omit<Rule, 'name' | 'faults' | 'match'>> {
  readonly name: Rule['name']
  readonly match?: MatchSpec | undefined
  readonly faults: Rule['faults']
}

/** A file's validated rules. */
export interface RuleFileSpec extends Loose<Pick<RulesFile, 'enabled' | 'maxActive'>> {
  readonly seed?: number | string | undefined
  readonly rules: readonly RuleSpec[]
}
