import type { Fault } from '../../filters/fault.ts'
import { FAULTS, type FaultUse } from '../../filters/index.ts'
import type { NotApplicableReason } from '../../filters/lib/not-applicable.ts'
import {
  NOTHING,
  type Asked,
  type Outlook,
  type OutlookHook,
  type OutlookInput,
} from '../../filters/lib/outlook.ts'
import { type Call, sharesStream } from '../../mcp/call.ts'
import { callerText } from '../../http/caller-identity.ts'
import { isExactId } from '../../mcp/reply.ts'
import { isPushed, waysOf, type ResponseKind, type Way } from './response-kind.ts'
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
  /** The upstream does not get the call. */
  readonly ends?: true
  /** The rule and fault that keep the call from the upstream, so that this one has no turn. */
  readonly behind?: string
}

/** The effects after which the call does not reach the upstream. */
const ENDS: ReadonlySet<Asked> = new Set([
  'status',
  'status for all',
  'message',
  'reset',
  'silence',
])

/** The effects that need HTTP. */
const NEEDS_HTTP: ReadonlySet<Asked | undefined> = new Set(['status', 'status for all', 'reset'])

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
  return waysOf(isHttp, facts).map(([on, way]) => {
    const stream = way.stream === true || (way.message === true && way.input !== true)
    // In HTTP+SSE the POST names its stream, which is its session.
    const hasStream = way.elsewhere === true || (way.message === true && onPush)
    const session = facts.session ?? (hasStream ? 'a stream' : undefined)
    const { target = facts.http.path } = facts.http
    const setting: OutlookInput = {
      call: isHttp ? undefined : facts.call,
      session,
      identified: callerText({ target, headers: facts.headers }, session) !== undefined,
      response: stream ? 'events' : 'body',
      shared: isPushed(way) || way.shared === true,
      ends: !stream || facts.call !== undefined,
    }
    if (way.message === true) {
      const shared = batched ? { shared: true as const } : {}
      const outlook = settled(use, fault, { ...way, ...shared }, setting)
      const isUnsure = way.elsewhere === true && namesTool(rule)
      return { on, here: true, ...(isUnsure ? withCall(outlook, facts.call!) : outlook) }
    }
    const isPushedBatch = way.elsewhere === true && onPush && batched
    const outlook = settled(use, fault, isPushedBatch ? { ...way, shared: true } : way, setting)
    const isKind = isPushed(way) === onPush
    const isOfBatch = onPush || (way.shared === true) === batched
    return { on, here: isHttp || (isKind && isOfBatch), ...outlook }
  })
}

/** Returns true for a rule that is about messages of the server during calls of a tool. */
function namesTool({ direction, tests }: Pick<CompiledRule, 'direction' | 'tests'>): boolean {
  return direction === 'server' && tests.some(({ dimension }) => dimension === 'tool')
}

/** Adds the condition under which the call of a message on the stream of a session is known. */
function withCall(
  outlook: Omit<ResponseOutlook, 'on' | 'here'>,
  { method }: Call,
): Omit<ResponseOutlook, 'on' | 'here'> {
  if (outlook.acts === 'no') return outlook
  const { needs } = outlook
  const known =
    method === 'notifications/progress'
      ? 'the progress token of an open call'
      : 'a task that a call of the tool began'
  return {
    ...outlook,
    acts: 'depends',
    needs: needs === undefined ? known : `${needs}, and ${known}`,
  }
}

function settled(
  use: FaultUse,
  fault: Fault,
  way: Way,
  setting: OutlookInput,
): Omit<ResponseOutlook, 'on' | 'here'> {
  let outlook = outlookOf(use, fault, setting)
  // The HTTP response of a resumed call has no response of JSON-RPC.
  if (way.resumed === true && 'by' in outlook && outlook.by === 'output')
    outlook = outlookOf(use, fault, { ...setting, ends: false })
  const other = cannot(fault, outlook, way, setting)
  const isMissing = way.message === true && other === 'nothing_to_act_on'
  const reason = (isMissing ? undefined : cannotOnStdio(outlook, setting)) ?? other
  if (reason !== undefined || 'cannot' in outlook) {
    return { acts: 'no', reason: reason ?? 'nothing_to_act_on' }
  }
  const { does, by, asks, any } = outlook
  let { needs } = outlook
  if (by === 'beforeResponse' && asks === 'status' && setting.response === 'events') {
    needs ??= 'a stream that begins with the response'
  }
  if (any === true && !setting.ends) needs ??= 'events on the stream'
  if (needs !== undefined) return { acts: 'depends', by, does, needs }
  const ends = by === 'request' && asks !== undefined && ENDS.has(asks)
  return { acts: 'yes', by, does, ...(ends ? { ends } : {}) }
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
  way: Way,
  { call, ends }: OutlookInput,
): NotApplicableReason | undefined {
  if (way.message === true) return cannotOnMessage(outlook, way, call!)
  const { shared, elsewhere } = way
  const noOutput = noOutputOn(way, call)
  const hears = fault.beforeResponse !== undefined || fault.onResponse !== undefined
  // One that has nothing else is not even asked.
  if (noOutput !== undefined && !hears && fault.onRequest === undefined) return noOutput
  if ('cannot' in outlook) return outlook.cannot
  const { by, asks, any } = outlook
  if (by === 'output') return noOutput === undefined || !hears ? noOutput : 'nothing_to_act_on'
  if (by !== 'request' && any !== true && !ends) return 'nothing_to_act_on'
  const isLate = by === 'beforeResponse'
  switch (asks) {
    case 'message':
      if (call === undefined) return 'nothing_to_act_on'
      return isExactId(call.id) ? undefined : 'inexact_id'
    case 'status for all':
      return isLate && elsewhere ? 'headers_sent' : undefined
    case 'status':
      if (isLate && elsewhere) return 'headers_sent'
      return shared ? 'shared_exchange' : undefined
    case 'reset':
      if (isLate && elsewhere) return 'shared_stream'
      return shared ? 'shared_exchange' : undefined
    case 'silence':
      return shared && !(isLate && elsewhere) ? 'shared_exchange' : undefined
    case 'edit':
      return isLate ? 'already_sent' : undefined
    case 'copies':
      if (isLate) return 'already_sent'
      return isPushed(way) ? 'responded_elsewhere' : undefined
    case undefined:
    default:
      return undefined
  }
}

/** Returns the reason for which the exchange has no HTTP response of this call alone. */
function noOutputOn(
  way: Way,
  call: Call | undefined,
): 'no_http' | 'responded_elsewhere' | 'shared_exchange' | undefined {
  if (call?.transport === 'stdio') return 'no_http'
  if (isPushed(way)) return 'responded_elsewhere'
  return way.shared === true ? 'shared_exchange' : undefined
}

/** Returns the reason for which a fault that needs HTTP cannot act on stdio. */
function cannotOnStdio(outlook: Outlook, { call }: OutlookInput): NotApplicableReason | undefined {
  if (call?.transport !== 'stdio' || 'cannot' in outlook) return undefined
  return outlook.by === 'output' || NEEDS_HTTP.has(outlook.asks) ? 'no_http' : undefined
}

/** Returns the reason for which a fault cannot act on a message that is no call. */
function cannotOnMessage(
  outlook: Outlook,
  { shared, elsewhere, input }: Way,
  { id, kind, from }: Call,
): NotApplicableReason | undefined {
  if ('cannot' in outlook) return outlook.cannot
  if (outlook.by === 'output') return 'nothing_to_act_on'
  const isPosted = from !== 'server'
  const { by, asks } = outlook
  if (isPosted && by === 'beforeResponse' && asks !== 'message') return 'nothing_to_act_on'
  switch (asks) {
    case 'message':
      if (kind === 'notification') return 'no_response'
      return isExactId(id) ? undefined : 'inexact_id'
    case 'status for all':
      return isPosted ? undefined : 'headers_sent'
    case 'status':
      if (!isPosted) return 'headers_sent'
      return shared ? 'shared_exchange' : undefined
    case 'reset':
      if (elsewhere) return 'shared_stream'
      return shared ? 'shared_exchange' : undefined
    case 'silence':
      return shared && isPosted ? 'shared_exchange' : undefined
    case 'copies':
      return input ? 'already_sent' : undefined
    case 'edit':
    case undefined:
    default:
      return undefined
  }
}
