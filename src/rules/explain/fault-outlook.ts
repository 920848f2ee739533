import type { Fault, Verdict } from '../../filters/fault.ts'
import { FAULTS, type FaultUse } from '../../filters/index.ts'
import type { NotApplicableReason } from '../../filters/lib/not-applicable.ts'
import {
  NOTHING,
  type Asked,
  type Outlook,
  type OutlookHook,
  type OutlookInput,
} from '../../filters/lib/outlook.ts'
import { type Call, isOther, sharesStream } from '../../mcp/call.ts'
import { callerText } from '../../http/caller-identity.ts'
import { isPushed, formsOf, type ResponseKind, type Form } from './response-kind.ts'
import { checkServerVerdict, checkStreamVerdict } from '../select/verdict-checks.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import type { Facts } from '../match/call-facts.ts'

/** Predicts the effect of a fault on one form of response. */
export interface ResponseOutlook {
  readonly on: ResponseKind
  /** True when the response to the explained call can have this form. */
  readonly here: boolean
  readonly acts: 'yes' | 'depends' | 'no'
  /**
   * When it does: before the upstream gets the call, when the response is there, while it flows, or
   * as HTTP.
   */
  readonly by?: OutlookHook
  /** In a few words; absent where it does not act. */
  readonly does?: string
  /** The further condition when `acts` is `depends`. */
  readonly needs?: string
  /** Why it does not act, as logs say it. */
  readonly reason?: NotApplicableReason
  /** It also acts on events before the one with the response. */
  readonly any?: true
  /** The upstream does not get the call. */
  readonly ends?: true
  /** No later fault gets the response. */
  readonly replaces?: true
  /** The rule and fault that end the call before, so that this one has no turn. */
  readonly behind?: string
}

type Settled = Omit<ResponseOutlook, 'on' | 'here'>

const TASK_OF_TOOL = 'a task that a call of the tool began'
const REPLY = { kind: 'http', status: 0, body: undefined, headers: {} } as const

/** The verdicts by which faults ask for effects. */
const VERDICTS: Readonly<Record<Asked, Verdict>> = {
  status: { kind: 'respond', reply: REPLY },
  'status for all': { kind: 'respond', reply: { ...REPLY, forAll: true } },
  message: { kind: 'respond', reply: { kind: 'toolError', text: '' } },
  reset: { kind: 'reset', how: 'rst' },
  silence: { kind: 'hang' },
  edit: { kind: 'edit', edit: () => undefined },
  copies: { kind: 'copies', copies: 1, spacing: 0 },
}

/**
 * Predicts the effect of a rule's fault for each form of response. `batched` means that the call is
 * one of several.
 */
export function faultOutlook(
  use: FaultUse,
  fault: Fault,
  rule: Pick<CompiledRule, 'isHttp' | 'direction' | 'tests'>,
  facts: Facts,
  batched: boolean,
): readonly ResponseOutlook[] {
  const { isHttp } = rule
  const onPush = sharesStream(facts.call?.transport)
  return formsOf(isHttp, facts).map(([on, form]) => {
    // In HTTP+SSE the POST names its stream, which is its session.
    const hasStream = form.elsewhere === true || (form.message === true && onPush)
    const session = facts.session ?? (hasStream ? 'a stream' : undefined)
    const { target = facts.http.path } = facts.http
    const setting: OutlookInput = {
      call: isHttp ? undefined : facts.call,
      session,
      identified: callerText({ target, headers: facts.headers }, session) !== undefined,
      response: form.stream ? 'events' : 'body',
      shared: isPushed(form) || form.shared === true,
      ends: form.stream !== true || facts.call !== undefined,
    }
    const isMessage = form.message === true
    const isShared = batched && (isMessage || (form.elsewhere === true && onPush))
    const isKind = isPushed(form) === onPush && (onPush || (form.shared === true) === batched)
    const isUnsure = isMessage && form.elsewhere === true && namesTool(rule)
    // On stdio, results are not searched for requests.
    const isUnread = on.startsWith('input') && facts.call?.transport === 'stdio'
    const outlook: Settled = isUnread
      ? { acts: 'no', reason: 'nothing_to_act_on' }
      : settled(use, fault, isShared ? { ...form, shared: true } : form, setting)
    const here = isHttp || isMessage || isKind
    return { on, here, ...(isUnsure ? withCall(outlook, facts.call!) : outlook) }
  })
}

/** Returns true for a rule that is about messages of the server during calls of a tool. */
function namesTool({ direction, tests }: Pick<CompiledRule, 'direction' | 'tests'>): boolean {
  return direction === 'server' && tests.some(({ dimension }) => dimension === 'tool')
}

/** Adds the condition under which the call of a message on the stream of a session is known. */
function withCall(outlook: Settled, { method }: Call): Settled {
  if (outlook.acts === 'no') return outlook
  const isProgress = method === 'notifications/progress'
  const known = isProgress ? 'the progress token of an open call' : TASK_OF_TOOL
  const needs = outlook.needs === undefined ? known : `${outlook.needs}, and ${known}`
  return { ...outlook, acts: 'depends', needs }
}

function settled(use: FaultUse, fault: Fault, form: Form, setting: OutlookInput): Settled {
  let outlook = outlookOf(use, fault, setting)
  // The HTTP response of a resumed call has no response of JSON-RPC.
  if (form.resumed === true && 'by' in outlook && outlook.by === 'output')
    outlook = outlookOf(use, fault, { ...setting, ends: false })
  const reason = cannot(fault, outlook, form, setting)
  if (reason !== undefined || 'cannot' in outlook) {
    return { acts: 'no', reason: reason ?? 'nothing_to_act_on' }
  }
  const { does, by, asks, any } = outlook
  let { needs } = outlook
  if (by === 'beforeResponse' && asks === 'status' && setting.response === 'events') {
    needs ??= 'a stream whose first message is the response'
  }
  if (any === true && !setting.ends) needs ??= 'events on the stream'
  const base = { by, does, ...(any && { any }) }
  if (needs !== undefined) return { acts: 'depends', ...base, needs }
  const ends = asks !== undefined && asks !== 'edit' && asks !== 'copies'
  return { acts: 'yes', ...base, ...(ends && { [by === 'request' ? 'ends' : 'replaces']: true }) }
}

/** Returns the fault's own prediction, or one by its hooks when it makes none. */
function outlookOf(
  { fault: name, config }: FaultUse,
  fault: Fault,
  setting: OutlookInput,
): Outlook {
  const definition = FAULTS.find((each) => each.name === name)
  // The name picks the definition whose schema the parameters were read by, which types cannot
  // follow.
  const outlook = definition?.outlook as
    ((config: unknown, setting: OutlookInput) => Outlook) | undefined
  if (outlook !== undefined) return outlook(config, setting)
  const does = definition?.summary ?? name
  if (fault.onRequest !== undefined) return { by: 'request', does }
  if (fault.beforeResponse !== undefined) return { by: 'beforeResponse', does }
  if (fault.onResponse !== undefined) return { by: 'response', does }
  return fault.onOutput === undefined ? NOTHING : { by: 'output', does }
}

/** Why the exchange does not let the fault do what it means to. */
function cannot(
  fault: Fault,
  outlook: Outlook,
  form: Form,
  { call, ends }: OutlookInput,
): NotApplicableReason | undefined {
  const noOutput = noOutputOn(form, call)
  const hears = fault.beforeResponse !== undefined || fault.onResponse !== undefined
  const isMute = !hears && fault.onRequest === undefined
  // One that has nothing else is not even asked.
  if (noOutput !== undefined && isMute && form.message !== true) return noOutput
  if ('cannot' in outlook) return outlook.cannot
  const { by, asks, any } = outlook
  if (by === 'output')
    return noOutput === 'no_http' || !hears ? noOutput : noOutput && 'nothing_to_act_on'
  if (by !== 'request' && any !== true && !ends) return 'nothing_to_act_on'
  return asks && cannotCarryOut(VERDICTS[asks], by !== 'request', form, call)
}

/** Returns the reason for which an exchange cannot carry out a verdict. */
function cannotCarryOut(
  verdict: Verdict,
  isLate: boolean,
  form: Form,
  call: Call | undefined,
): NotApplicableReason | undefined {
  const { kind } = verdict
  const { message: isMessage, input, elsewhere, shared } = form
  if (isMessage && call!.from === 'server') {
    if (kind === 'copies') return input ? 'already_sent' : undefined
    const uncut = elsewhere ? 'shared_stream' : shared ? 'shared_exchange' : undefined
    return checkServerVerdict(call!, verdict, uncut)
  }
  if ((kind === 'edit' || kind === 'copies') && !isLate) {
    const isElsewhere = kind === 'copies' && !isOther(call) && isPushed(form)
    return isElsewhere ? 'responded_elsewhere' : undefined
  }
  if (isMessage && isLate && (kind !== 'respond' || verdict.reply.kind === 'http')) {
    return 'nothing_to_act_on'
  }
  const isCut = isLate && elsewhere && kind === 'reset' && call?.transport !== 'stdio'
  if (isCut && !isMessage) return 'shared_stream'
  const isShared = shared === true && !(isLate && elsewhere)
  return checkStreamVerdict(call, verdict, isShared, isLate && elsewhere === true)
}

/** Returns the reason for which the exchange has no HTTP response of this call alone. */
function noOutputOn(form: Form, call: Call | undefined): NotApplicableReason | undefined {
  if (form.message === true) return 'nothing_to_act_on'
  if (call?.transport === 'stdio') return 'no_http'
  if (isPushed(form)) return 'responded_elsewhere'
  return form.shared === true ? 'shared_exchange' : undefined
}
