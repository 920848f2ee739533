import { type Call, sharesStream } from '../../../mcp/call.ts'
import { asSseEvent, isExactId } from '../../../mcp/reply.ts'
import type { Verdict } from '../../../filters/fault.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { withId } from '../../../filters/lib/json/message-id.ts'
import type { Inapplicable } from '../chain/active-context.ts'
import type { ActiveFault } from '../chain/active-fault.ts'
import type { CallFaults } from '../call-faults.ts'
import type { CallTexts } from './call-texts.ts'
import { type RpcReply, markerComments, replyMessage } from '../emit/injected-response.ts'

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
  if (
    verdict.kind === 'respond' &&
    verdict.reply.kind !== 'http' &&
    call?.kind === 'notification'
  ) {
    return 'no_response'
  }
  if (verdict.kind !== 'respond' || verdict.reply.kind === 'http') {
    const isForAll =
      verdict.kind === 'respond' && verdict.reply.kind === 'http' && verdict.reply.forAll === true
    return call !== undefined && shared && !isForAll ? 'shared_exchange' : undefined
  }
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

/** The exchange whose request faults are asked about. */
interface AskedExchange {
  readonly options: {
    readonly session: string
    /** Sends the replies to calls whose responses come on a stream. */
    readonly push?: { send(session: string, bytes: Uint8Array): boolean } | undefined
  }
  readonly posted: readonly CallFaults[]
  readonly shared: boolean
}

/**
 * Checks a verdict of the request phase and returns the reason for which it cannot be carried out;
 * starts immediate effects.
 */
export function admitVerdict(
  faults: CallFaults,
  verdict: Verdict,
  active: ActiveFault,
  { options, posted, shared }: AskedExchange,
  texts: CallTexts,
): Inapplicable {
  const { call } = faults
  const index = posted.indexOf(faults)
  if (verdict.kind === 'edit' || verdict.kind === 'copies') {
    return checkChange(call, verdict, texts, index)
  }
  const isShared = shared || (call?.kind !== undefined && posted.length > 1)
  const reason = checkVerdict(call, verdict, isShared)
  if (reason !== undefined || verdict.kind !== 'respond') return reason
  const { reply } = verdict
  if (call?.kind === 'response' && reply.kind !== 'http') {
    return texts.edit(index, () => JSON.stringify(replyMessage(reply, call)))
  }
  if (!sharesStream(call?.transport) || reply.kind === 'http') return undefined
  return pushReply(faults, reply, active.wireMarker, options)
}

/** Sends the reply to a call on the stream of its session. */
function pushReply(
  faults: CallFaults,
  reply: RpcReply,
  wireMarker: string | undefined,
  { push, session }: AskedExchange['options'],
): NotApplicableReason | undefined {
  const { bytes } = asSseEvent(replyMessage(reply, faults.call!))
  const marked =
    wireMarker === undefined ? bytes : Buffer.concat([markerComments([wireMarker]), bytes])
  const sent = faults.fate.repliedBy(() => push?.send(session, marked) ?? false)
  return sent ? undefined : 'no_push_stream'
}

/** Edits a call, or reads it for its copies; returns the reason when that is impossible. */
async function checkChange(
  call: Call | undefined,
  verdict: Extract<Verdict, { readonly kind: 'edit' | 'copies' }>,
  texts: CallTexts,
  index: number,
): Promise<NotApplicableReason | undefined> {
  if (call === undefined) return 'nothing_to_act_on'
  if (verdict.kind === 'edit') return texts.edit(index, verdict.edit, verdict.keepsHeaders)
  if (!(verdict.copies > 0)) return 'nothing_to_act_on'
  const isCall = call.kind === undefined
  // The responses to copies would arrive on the stream that the client reads.
  if (isCall && sharesStream(call.transport)) return 'responded_elsewhere'
  const text = await texts.text(index)
  const isUnreadable = text === undefined || (isCall && withId(text, '0') === undefined)
  return isUnreadable ? 'unreadable' : undefined
}
