import type { Call } from '../../mcp/call.ts'
import { isExactId } from '../../mcp/reply.ts'
import type { Verdict } from '../../filters/fault.ts'
import type { NotApplicableReason } from '../../filters/lib/not-applicable.ts'

/**
 * Returns the reason for which a verdict on a response cannot be carried out, if any: the upstream
 * has the call already.
 */
export function checkVerdict(
  call: Call | undefined,
  verdict: Verdict,
  shared: boolean,
): NotApplicableReason | undefined {
  if (verdict.kind === 'continue') return undefined
  if (call?.transport === 'stdio' && needsHttp(verdict)) return 'no_http'
  if (verdict.kind === 'edit' || verdict.kind === 'copies') return 'already_sent'
  const reply = verdict.kind === 'respond' ? verdict.reply : undefined
  if (reply === undefined || reply.kind === 'http') {
    return call !== undefined && shared && reply?.forAll !== true ? 'shared_exchange' : undefined
  }
  if (call?.kind === 'notification') return 'no_response'
  if (call === undefined) return 'nothing_to_act_on'
  return isExactId(call.id) ? undefined : 'inexact_id'
}

/** Returns true for verdicts that stdio cannot express. */
function needsHttp(verdict: Verdict): boolean {
  return verdict.kind === 'reset' || (verdict.kind === 'respond' && verdict.reply.kind === 'http')
}

/** Returns the reason for which a verdict on a stream cannot be carried out, if any. */
export function checkStreamVerdict(
  call: Call | undefined,
  verdict: Verdict,
  shared: boolean,
  isHeadSent: boolean,
): NotApplicableReason | undefined {
  // Permanent reasons first: the reason must not depend on the order of responses.
  const reason = checkVerdict(call, verdict, shared)
  if (reason !== undefined || verdict.kind !== 'respond') return reason
  return verdict.reply.kind === 'http' && isHeadSent ? 'headers_sent' : undefined
}

/** Returns the reason for which a verdict on a message of the server cannot be carried out. */
export function checkServerVerdict(
  call: Call,
  verdict: Verdict,
  uncut?: NotApplicableReason,
): NotApplicableReason | undefined {
  if (call.transport === 'stdio' && needsHttp(verdict)) return 'no_http'
  if (verdict.kind === 'reset') return uncut
  if (verdict.kind !== 'respond') return undefined
  if (verdict.reply.kind === 'http') return 'headers_sent'
  if (call.id === undefined) return 'no_response'
  return isExactId(call.id) ? undefined : 'inexact_id'
}
