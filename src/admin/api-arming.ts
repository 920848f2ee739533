import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { Changed, Reason } from './api.ts'
import { isoTime } from './api-time.ts'

/** Shows whether rules may act. */
export function showArming({ arming, ruleSet, current }: ActiveRules): Omit<Changed, 'changed'> {
  const reasons: Reason[] = arming.reasons.map(({ by, reason, at }) => ({
    by,
    reason,
    at: isoTime(at),
  }))
  if (!ruleSet.enabled) {
    reasons.push({ by: 'file', reason: 'the rules say enabled: false', at: isoTime(current?.at) })
  }
  return { armed: reasons.length === 0, reasons }
}
