import type { DisarmedBy } from '../rules/guard/arming.ts'
import type { RulesInForce } from '../rules/watch/active-rules.ts'
import { isoTime } from './api-time.ts'

/** One reason why no rule acts; `file` for `enabled: false` in the rules themselves. */
export interface ShownReason {
  readonly by: DisarmedBy | 'file'
  readonly reason: string
  readonly at: string | null
}

/** Whether rules may act, and everything that speaks against it. */
export interface ShownArming {
  readonly armed: boolean
  readonly reasons: readonly ShownReason[]
}

/** Whether rules may act, as JSON. */
export function showArming({ arming, ruleSet, current }: RulesInForce): ShownArming {
  const reasons: ShownReason[] = arming.reasons.map(({ by, reason, at }) => ({
    by,
    reason,
    at: isoTime(at),
  }))
  if (!ruleSet.enabled) {
    reasons.push({ by: 'file', reason: 'the rules say enabled: false', at: isoTime(current?.at) })
  }
  return { armed: reasons.length === 0, reasons }
}
