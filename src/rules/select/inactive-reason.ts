import type { Call } from '../../mcp/call.ts'
import type { Facts } from '../match/call-facts.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleStates } from './rule-states.ts'

/** Reasons why no rule may act on an exchange. */
export type InactiveReason = 'disarmed' | 'denied_tool' | 'excluded_path' | 'untouchable'

/** Returns in words why no rule acts at all; undefined while rules may act. */
export function disarmedBy(
  { enabled }: Pick<RuleSet, 'enabled'>,
  states: RuleStates | undefined,
): string | undefined {
  return enabled ? states?.disarmed : 'the file sets `enabled: false`'
}

/**
 * Returns true for an exchange that no rule may touch, as one with a call of a denied tool. A body
 * that was not read may hold any call.
 */
export function isUntouchable(
  states: RuleStates,
  calls: readonly Call[],
  isUnread: boolean,
): boolean {
  const { isDenied } = states
  return isDenied !== undefined && (isUnread || calls.some(isDenied))
}

/**
 * Returns the reason that keeps all rules from an exchange, regardless of matches; undefined for
 * none.
 */
export function inactiveReasonFor(
  ruleSet: Pick<RuleSet, 'enabled'>,
  facts: Facts,
  states: RuleStates | undefined,
): InactiveReason | undefined {
  if (disarmedBy(ruleSet, states) !== undefined) return 'disarmed'
  if (facts.call !== undefined && states?.isDenied?.(facts.call) === true) return 'denied_tool'
  if (states?.isExcluded?.(facts.http.path) === true) return 'excluded_path'
  return facts.untouchable === true ? 'untouchable' : undefined
}
