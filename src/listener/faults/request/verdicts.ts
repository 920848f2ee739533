import { type Call, sharesStream } from '../../../mcp/call.ts'
import { type Reply, asSseEvent } from '../../../mcp/reply.ts'
import type { FaultContext, Verdict } from '../../../filters/fault.ts'
import type { FalseUse } from '../../falsified/false-values.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import { withId } from '../../../filters/lib/json/message-id.ts'
import { checkStreamVerdict, checkVerdict } from '../../../rules/select/verdict-checks.ts'
import type { ActiveFault, Inapplicable } from '../active-fault.ts'
import type { CallInjection, InjectedExchange } from '../call-injection.ts'
import { addMarker, move, repliedBy } from '../call-state.ts'
import type { CallTexts } from './call-texts.ts'
import {
  type HttpReply,
  type RpcReply,
  faultMarker,
  markerComments,
  replyMessage,
} from '../emit/injected-response.ts'

/** Returns the reason for which a verdict cannot be carried out on a shared stream. */
export function checkPushedVerdict(call: Call, verdict: Verdict): NotApplicableReason | undefined {
  const reason = checkStreamVerdict(call, verdict, false, true)
  return reason ?? (verdict.kind === 'reset' ? 'shared_stream' : undefined)
}

/**
 * Checks a verdict of the request phase and returns the reason for which it cannot be carried out;
 * starts immediate effects.
 */
export function admitVerdict(
  own: CallInjection,
  verdict: Verdict,
  active: ActiveFault,
  { posted, shared }: InjectedExchange,
  texts: CallTexts,
): Inapplicable {
  const { call } = own
  const index = posted.indexOf(own)
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
  // The reply ends the call, whose record has the faults that took effect before.
  return pushReply(own, reply, active.wireMarker, () => void active.commitClaims())
}

/** Sends the reply to a call on the stream of its session, after `begin`. */
function pushReply(
  own: CallInjection,
  reply: RpcReply,
  wireMarker: string | undefined,
  begin: () => void,
): NotApplicableReason | undefined {
  const { parts, facts } = own.context
  const { bytes } = asSseEvent(replyMessage(reply, own.call!))
  const marked =
    wireMarker === undefined ? bytes : Buffer.concat([markerComments([wireMarker]), bytes])
  const sent = repliedBy(own, () => parts.push.send(facts.session ?? '', marked, begin))
  return sent ? undefined : 'no_push_stream'
}

const HOLDS = 'an argument contains a value that Squall falsified in an earlier result'
const MAY_HOLD =
  'it contains too many numbers to check whether Squall falsified one of them in an earlier result'

/** Replies to a call whose arguments hold a false value; whether or not its rule is active. */
export function blocked(own: CallInjection, { by, isUnread }: FalseUse): RequestVerdict {
  const { rule, fault, marked } = by
  const { call, context } = own
  const marker = marked ? faultMarker(rule, fault) : undefined
  const why = isUnread === true ? MAY_HOLD : HOLDS
  const text = `Squall blocked this call: ${why}. The tool was not called.`
  const reply = { kind: 'toolError', text } as const
  move(own, 'changes')
  if (marker !== undefined) addMarker(own, marker, false)
  const effect = {
    effect: 'blocked a use',
    delayMs: undefined,
    first: true,
    isLater: true,
  } as const
  context.listener.injected({ rule, fault, call, ...effect })
  if (sharesStream(call?.transport)) pushReply(own, reply, marker, () => {})
  return { kind: 'respond', reply }
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

/**
 * The result of the request phase for one call: edits, copies and silence are handled by then. A
 * message that is `lost` is not sent.
 */
export type RequestVerdict =
  Exclude<Verdict, { readonly kind: 'hang' | 'edit' | 'copies' }> | { readonly kind: 'lost' }

const CONTINUE: RequestVerdict = { kind: 'continue' }

/**
 * Runs the request hooks in order; the first verdict that can be carried out ends the phase. The
 * first delay is counted from `since`, until a fault has held the call.
 */
export async function askFaults(
  own: CallInjection,
  admit: (verdict: Verdict, active: ActiveFault) => Inapplicable,
  since?: number,
): Promise<RequestVerdict> {
  let from = since
  for (const active of own.faults) {
    if (own.stop.aborted) break
    const name = active.requestHook
    if (active.asked || name === undefined) continue
    const hook = (ctx: FaultContext) => active.fault[name]!(ctx)
    const verdict = await active.decide(hook, (wanted) => admit(wanted, active), from)
    from = undefined
    const done = carriedOut(own, active, verdict)
    if (done instanceof Promise) await done
    else if (done !== undefined) return done
  }
  return CONTINUE
}

/** Carries out a verdict; returns it when it ends the phase. */
function carriedOut(
  own: CallInjection,
  active: ActiveFault,
  verdict: Verdict,
): RequestVerdict | undefined | Promise<undefined> {
  const { call } = own
  if (verdict.kind === 'continue') return undefined
  if (verdict.kind === 'copies') {
    const { copies, spacing } = verdict
    own.ordered = [...own.ordered, { active, copies, spacing }]
    return undefined
  }
  // Nobody waits for a notification of the server: the silence is complete without holding it.
  const isLost = verdict.kind === 'hang' && call?.from === 'server' && call.kind === 'notification'
  if (verdict.kind === 'hang' && !isLost) {
    own.hangs = true
    // The wait ends when the rule is withdrawn, and rejects when the client leaves.
    return active.hang().then(
      () => void (own.hangs = false),
      () => undefined,
    )
  }
  // The upstream waits for the response of a client: a message of a fault replaces it.
  const isMessage = verdict.kind === 'respond' && verdict.reply.kind !== 'http'
  const isReplaced = isMessage && call?.kind === 'response'
  if (verdict.kind === 'edit') own.edits = [...own.edits, verdict.edit]
  else if (!isLost && !isReplaced) move(own, 'changes')
  active.settle()
  if (verdict.kind === 'hang') return { kind: 'lost' }
  return verdict.kind === 'edit' || isReplaced ? undefined : verdict
}

/** The result of the request phase for the exchange. */
export type RequestOutcome =
  | { readonly kind: 'cut'; readonly how: 'rst' | 'fin' }
  | { readonly kind: 'http'; readonly reply: HttpReply }
  /**
   * The calls with these indexes have responses, some of them these messages, or are abandoned; the
   * rest is sent.
   */
  | {
      readonly kind: 'forward'
      readonly responded: readonly number[]
      readonly replies: readonly Reply[]
      /** The texts of messages that the upstream gets in addition. */
      readonly repeated: readonly string[]
    }

/**
 * Joins the verdicts on the messages of a request. Adds the indexes of messages that the upstream
 * does not get to `responded`, and the replies of faults to `replies`.
 */
export function requestOutcome(
  posted: readonly CallInjection[],
  verdicts: readonly (RequestVerdict | undefined)[],
  responded: number[],
  replies: Reply[],
  repeated: readonly string[],
): RequestOutcome {
  for (const [index, own] of posted.entries()) {
    const verdict = verdicts[index]
    if (own.isAbandoned) {
      responded.push(index)
      continue
    }
    if (verdict?.kind === 'reset') return { kind: 'cut', how: verdict.how }
    if (verdict?.kind !== 'respond') continue
    const { reply } = verdict
    if (reply.kind === 'http') {
      for (const each of posted) move(each, 'changes')
      return { kind: 'http', reply }
    }
    move(own, 'replaces')
    responded.push(index)
    if (!sharesStream(own.call!.transport)) replies.push(replyMessage(reply, own.call!))
  }
  return { kind: 'forward', responded, replies, repeated }
}
