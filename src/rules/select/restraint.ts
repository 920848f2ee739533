import type { Facts } from '../match/call-facts.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleStates } from './rule-states.ts'

/** Reasons why no rule may act on an exchange. */
export type Restraint = 'disarmed' | 'denied_tool' | 'excluded_path' | 'untouchable'

/** Returns the reason that keeps all rules from an exchange, regardless of matches; undefined for none. */
export function restraintOn(
  { enabled }: Pick<RuleSet, 'enabled'>,
  facts: Facts,
  states: RuleStates | undefined,
): Restraint | undefined {
  if (!enabled || states?.disarmed !== undefined) return 'disarmed'
  if (facts.call !== undefined && states?.denies(facts.call) === true) return 'denied_tool'
  if (states?.excludes(facts.http.path) === true) return 'excluded_path'
  return facts.untouchable === true ? 'untouchable' : undefined
}
