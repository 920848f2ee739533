import type { Call } from '../../../mcp/call.ts'
import { isExactId } from '../../../mcp/reply.ts'
import type { Verdict } from '../../../filters/fault.ts'
import type { NotApplicableReason } from '../fault-events.ts'

/**
 * Returns the reason for which a verdict on a response cannot be carried out, if any: the app has
 * the call already.
 */
export function checkVerdict(
  call: Call | undefined,
  verdict: Verdict,
  shared: boolean,
): NotApplicableReason | undefined {
  if (verdict.kind === 'continue') return undefined
  if (verdict.kind === 'edit' || verdict.kind === 'copies') return 'already_sent'
  if (verdict.kind !== 'respond' || verdict.reply.kind === 'http') {
    const isForAll =
      verdict.kind === 'respond' && verdict.reply.kind === 'http' && verdict.reply.forAll === true
    return call !== undefined && shared && !isForAll ? 'shared_exchange' : undefined
  }
  if (call === undefined) return 'nothing_to_act_on'
  return isExactId(call.id) ? undefined : 'inexact_id'
}
