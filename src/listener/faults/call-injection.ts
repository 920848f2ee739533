import type { FalseUse } from '../falsified/false-values.ts'
import { ENDLESS, type MessageBudget } from '../../base/byte-budget.ts'
import type { Call } from '../../mcp/call.ts'
import type { Plan } from '../../rules/select/plan.ts'
import type { SideFaults } from '../side-faults.ts'
import { ActiveFault } from './active-fault.ts'
import { type CallProgress, count, originOf, reopen } from './call-state.ts'
import type { Stop } from './chain/stop.ts'
import type { ExchangeContext, NotApplicableReason } from './exchange-context.ts'

/** A call with its faults, or an exchange that an HTTP rule matched. */
export interface CallInjection extends CallProgress {
  /** The matched rules, of which those that act have `faults`. */
  matched: Plan['matched']
  readonly blockedBy: FalseUse | undefined
  /** In order. */
  faults: readonly ActiveFault[]
  /** True when a fault acts on the request. */
  actsOnRequest: boolean
  /** True when a fault acts on the messages of the response, on any connection. */
  readsResponse: boolean
  /** True when a fault may replace the whole response. */
  mayReplace: boolean
  /** The copies that faults have ordered, and those that were taken to be sent. */
  ordered: readonly CopyOrder[]
  copies: readonly CopyOrder[]
  /** Aborted when the upstream responds to a call with copies; undefined without a session. */
  responded: AbortController | undefined
  /** True when the upstream reports the end of the session to a call with copies. */
  sessionEnded: boolean
  /**
   * Set while the response is awaited on a stream: reports that the stream ended, and that the
   * events may come again on another one.
   */
  lost: (() => void) | undefined
}

/** The copies of a call that one fault orders. */
export interface CopyOrder {
  readonly active: ActiveFault
  readonly copies: number
  /** Milliseconds. */
  readonly spacing: number
}

/** The calls of one exchange with their faults. */
export interface InjectedExchange {
  readonly options: ExchangeContext
  /** The faults of HTTP rules, which precede those of the calls. */
  readonly exchange: CallInjection
  readonly calls: readonly CallInjection[]
  /** The calls and other messages, by the indexes of `CallTexts`. */
  readonly posted: readonly CallInjection[]
  readonly all: readonly CallInjection[]
  /** True when several calls share the exchange: one call's fault must not affect the others. */
  readonly shared: boolean
  /** Stops all faults because the sidecar drains; held messages continue unchanged. */
  disarm(): void
  /** Ends the faults with the exchange, and calls that were not sent never are. Idempotent. */
  finish(): void
}

/** Shared by the calls that have nothing of a kind, which are nearly all. */
const NONE: readonly never[] = []
const UNBOUNDED: MessageBudget = { ...ENDLESS, reserve: () => true }

/** Opens a call with the faults of its plan. */
export function openInjection(
  { call, plan, sideFaults = NONE, blockedBy }: Partial<PlannedCall>,
  context: ExchangeContext,
  stop: Stop,
  memory = UNBOUNDED,
): CallInjection {
  const own: CallInjection = {
    call,
    state: 'open',
    holders: 0,
    edits: NONE,
    upstreamResponse: undefined,
    isRestored: false,
    end: 'awaited',
    matched: plan?.matched ?? NONE,
    blockedBy,
    context,
    memory,
    sideFaults,
    faults: NONE,
    actsOnRequest: blockedBy !== undefined,
    readsResponse: false,
    mayReplace: false,
    stop,
    response: undefined,
    ordered: NONE,
    copies: NONE,
    responded: undefined,
    sessionEnded: false,
    markers: NONE,
    headMarkers: NONE,
    position: undefined,
    waiting: undefined,
    hasWaited: false,
    hangs: false,
    isAbandoned: false,
    isElsewhere: false,
    isResumable: false,
    lost: undefined,
  }
  activate(own, own.matched)
  return own
}

/** A call with the rules that matched. */
export interface PlannedCall {
  readonly call: Call
  readonly plan: Plan | undefined
  readonly sideFaults?: readonly SideFaults[] | undefined
  /** The fault whose false value the arguments hold: the upstream must not get the call. */
  readonly blockedBy?: FalseUse | undefined
}

/** Adds the active faults of matched rules, in order; `before` are the faults that they replace. */
function activate(
  own: CallInjection,
  added: Plan['matched'],
  before: readonly ActiveFault[] = NONE,
): void {
  if (added.length === 0) return
  const faults = [...own.faults]
  for (const matched of added) {
    const { faults: all } = matched.rule
    for (let index = 0; index < all.length && !matched.dryRun; index++) {
      const active = new ActiveFault(matched, index, own, before[faults.length])
      faults.push(active)
      own.actsOnRequest ||= active.requestHook !== undefined
      own.readsResponse ||= active.readsResponse
      own.mayReplace ||= active.fault.beforeResponse !== undefined
    }
  }
  own.faults = faults
}

/** Adds the faults of further rules. */
export function addPlan(own: CallInjection, { matched }: Plan): void {
  own.matched = [...own.matched, ...matched]
  activate(own, matched)
}

/**
 * Restarts the faults for a response that may come again, because the part that was sent did not
 * contain it. Faults that held the response for the closed connection count as its cause.
 */
export function restart(own: CallInjection, stop: Stop): void {
  reopen(own)
  own.stop = stop
  const before = own.faults
  own.faults = NONE
  activate(own, own.matched, before)
  for (const active of before) active.drop()
}

/** Ends the faults with the exchange. */
export function closeInjection(own: CallInjection): void {
  // Before the faults end: the origin is read again afterwards.
  count(own)
  for (const { active } of own.ordered) active.revoke('call_not_sent')
  own.ordered = NONE
  for (const active of own.faults) active.close()
  for (const matched of own.matched) matched.finish()
}

/** Returns the faults of a call. */
export function ownOf(calls: readonly CallInjection[], call: Call): CallInjection | undefined {
  for (const own of calls) if (own.call === call) return own
  return undefined
}

/** Returns true when the origin of one of the outcomes is a fault. */
export function isAnyInjected(owners: readonly CallInjection[]): boolean {
  for (const own of owners) if (originOf(own) === 'injected') return true
  return false
}

/** Returns true when a fault acts on a response on the request's own exchange. */
export function actsOnResponse({ isElsewhere, readsResponse }: CallInjection): boolean {
  return !isElsewhere && readsResponse
}

/** Returns true while a fault of the call sleeps. */
export function waits({ faults }: CallInjection): boolean {
  return faults.some((active) => active.waits)
}

/** Reports the faults that act on messages, or else on HTTP, as not applicable. */
export function leave(
  { faults }: CallInjection,
  which: 'messages' | 'output' | 'all',
  reason: NotApplicableReason,
): void {
  for (const active of faults) {
    const isAlone = active.readsResponse !== active.transformsOutput
    const isLeft = isAlone && active.transformsOutput === (which === 'output')
    if (isLeft || which === 'all') active.cannot(reason)
  }
}
