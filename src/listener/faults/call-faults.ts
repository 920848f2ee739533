import type { Call, Origin } from '../../mcp/call.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import type { ResponseHead } from '../../http/headers.ts'
import { ENDLESS, type MessageRoom } from '../../base/room.ts'
import type { EditCall, FaultContext, Verdict } from '../../filters/fault.ts'
import { type Plan, finishPlan } from '../../rules/select/plan.ts'
import type { Disturbance } from '../disturbance.ts'
import { Fate } from './fate.ts'
import { CopyOrders } from './request/copies.ts'
import type { ExchangeContext, FaultListener, NotApplicableReason } from './exchange-context.ts'
import type { Stop } from './chain/stop.ts'
import { ActiveFault } from './chain/active-fault.ts'
import type { ActiveFaultOwner, Inapplicable, StreamPosition } from './chain/active-context.ts'

/**
 * The result of the request phase for one call: edits, copies and silence are handled by then. A
 * message that is `lost` is not sent.
 */
export type RequestVerdict =
  Exclude<Verdict, { readonly kind: 'hang' | 'edit' | 'copies' }> | { readonly kind: 'lost' }

/**
 * Checks a verdict and returns the reason for which it cannot be carried out; starts immediate
 * effects.
 */
export type Admit = (faults: CallFaults, verdict: Verdict, active: ActiveFault) => Inapplicable

const CONTINUE: RequestVerdict = { kind: 'continue' }
/** Shared by the calls that have nothing of a kind, which are nearly all. */
const NONE: readonly never[] = []

/** Runs the faults of one call, or of an exchange that an HTTP rule matched. */
export class CallFaults implements ActiveFaultOwner {
  readonly call: Call | undefined
  plan: Plan | undefined
  readonly exchangeContext: ExchangeContext
  stop: Stop
  readonly listener: FaultListener
  readonly memory: MessageRoom
  /** The copies that faults have ordered, if any. */
  copies: CopyOrders | undefined
  readonly fate: Fate
  response: ResponseHead | undefined
  /** The calls whose outcomes depend on the message, which is no call. */
  readonly #disturbs: readonly Disturbance[]
  /** The position of a message of the server on its stream. */
  position: StreamPosition | undefined
  /** Called when a fault begins to wait. */
  waiting: (() => void) | undefined
  /** True once a fault has waited. */
  hasWaited = false
  /** True while a fault keeps the message for good. */
  hangs = false
  /** The edits of the request, in order. */
  edits: readonly EditCall[] = NONE
  #faults: readonly ActiveFault[]
  #markers: readonly string[] = NONE
  #headMarkers: readonly string[] = NONE

  constructor(
    call: Call | undefined,
    plan: Plan | undefined,
    exchangeContext: ExchangeContext,
    stop: Stop,
    memory: MessageRoom = { ...ENDLESS, reserve: () => true },
    disturbs: readonly Disturbance[] = [],
  ) {
    this.#disturbs = disturbs
    this.call = call
    this.plan = plan
    this.exchangeContext = exchangeContext
    this.stop = stop
    this.listener = exchangeContext.listener
    this.memory = memory
    this.fate = new Fate(call)
    this.#faults = activeFaultsOf(plan, this)
  }

  /** The origin of the call's outcome; `injected` if the call ends while a fault holds it. */
  get origin(): Origin {
    return this.fate.injected ? 'injected' : 'real'
  }

  /** True when the upstream is known to have executed the call. */
  get isExecuted(): boolean {
    const message = this.fate.upstreamResponse
    if (message !== undefined) return outcomeOf(this.call!, message) === 'ok'
    const { status = 0 } = this.response ?? {}
    return status >= 200 && status < 300 && status !== 202
  }

  /** True while a fault sleeps. */
  get waits(): boolean {
    return this.#faults.some((active) => active.waits)
  }

  /** True when faults changed the request or the response. */
  get changed(): boolean {
    return (
      this.edits.length > 0 ||
      (!this.fate.isRestored && this.#faults.some((active) => active.changed))
    )
  }

  /** True when a fault acts on the request. */
  get actsOnRequest(): boolean {
    return this.#faults.some(({ requestHook }) => requestHook !== undefined)
  }

  /** True when a fault acts on a response on the request's own exchange. */
  get actsOnResponse(): boolean {
    return !this.fate.isElsewhere && this.readsResponse
  }

  /** True when a fault acts on the messages of the response, on any connection. */
  get readsResponse(): boolean {
    return this.#faults.some(({ readsResponse }) => readsResponse)
  }

  /** All faults, in order. */
  get faults(): readonly ActiveFault[] {
    return this.#faults
  }

  /** The faults that act on the response as HTTP, in order. */
  get outputs(): readonly ActiveFault[] {
    return this.#faults.filter(({ transformsOutput }) => transformsOutput)
  }

  /** Counts bytes of a message that a fault makes; returns the reason why it cannot be sent. */
  reserve(bytes: number): NotApplicableReason | undefined {
    // The observer of a stream that calls share would not see the end of the call.
    if (this.fate.isElsewhere && bytes > this.exchangeContext.maxBody) return 'too_large'
    return this.memory.reserve(bytes) ? undefined : 'memory'
  }

  /** True when a fault may replace the whole response. */
  get mayReplace(): boolean {
    return this.#faults.some(({ fault }) => fault.beforeResponse !== undefined)
  }

  onWait(): void {
    this.hasWaited = true
    this.waiting?.()
  }

  onEffect(taken: Message | undefined): void {
    for (const each of this.#disturbs) each.by(this.call!)
    if (taken?.kind !== 'notification' && taken?.kind !== 'request') return
    for (const each of this.exchangeContext.disturbancesOf?.(this.call) ?? []) each.by(taken)
  }

  addMarker(addMarker: string, onHead: boolean): void {
    const markers = onHead ? this.#headMarkers : this.#markers
    if (markers.includes(addMarker)) return
    if (onHead) this.#headMarkers = [...markers, addMarker]
    else this.#markers = [...markers, addMarker]
  }

  /** True when a marker must be sent. */
  get hasMarkers(): boolean {
    return this.#markers.length > 0
  }

  takeHeadMarkers(): readonly string[] {
    const markers = this.#headMarkers
    this.#headMarkers = NONE
    return markers
  }

  /** True once a fault or the upstream has ended the session of the call. */
  get hasSessionEnded(): boolean {
    return this.copies?.sessionEnded === true || this.exchangeContext.control.hasSessionEnded()
  }

  /** Takes the markers that must be sent. */
  takeMarkers(): readonly string[] {
    const markers = this.#markers
    this.#markers = NONE
    return markers
  }

  /**
   * Runs the request hooks in order; the first verdict that can be carried out ends the phase. The
   * first delay is counted from `since`, until a fault has held the call.
   */
  async request(admit: Admit, since?: number): Promise<RequestVerdict> {
    let from = since
    for (const active of this.#faults) {
      if (this.stop.aborted) break
      const name = active.requestHook
      if (active.asked || name === undefined) continue
      const hook = (ctx: FaultContext) => active.fault[name]!(ctx)
      const verdict = await active.decide(hook, (wanted) => admit(this, wanted, active), from)
      from = undefined
      // The upstream waits for the response of a client: a message of a fault replaces it.
      const isMessage = verdict.kind === 'respond' && verdict.reply.kind !== 'http'
      if (isMessage && this.call?.kind === 'response') {
        active.settle()
        continue
      }
      if (verdict.kind === 'hang') {
        // Nobody waits for a notification of the server: the silence is complete without holding
        // it.
        if (this.call?.from === 'server' && this.call.kind === 'notification') {
          active.settle()
          return { kind: 'lost' }
        }
        this.hangs = true
        // The wait ends when the rule is withdrawn, and rejects when the client leaves.
        await active.hang().then(
          () => (this.hangs = false),
          () => undefined,
        )
      } else if (verdict.kind === 'edit') {
        this.edits = [...this.edits, verdict.edit]
        this.fate.edited()
        active.settle()
      } else if (verdict.kind === 'copies') {
        const { copies, spacing } = verdict
        this.copies ??= new CopyOrders()
        this.copies.add({ active, copies, spacing })
      } else if (verdict.kind !== 'continue') {
        this.fate.changed()
        active.settle()
        return verdict
      }
    }
    return CONTINUE
  }

  /** Reports the faults that act on messages as not applicable. */
  leaveResponse(reason: NotApplicableReason): void {
    for (const active of this.#faults) {
      if (active.readsResponse && !active.transformsOutput) active.cannot(reason)
    }
  }

  /** Reports all faults as not applicable. */
  leaveAll(reason: NotApplicableReason): void {
    for (const active of this.#faults) active.cannot(reason)
  }

  /** Reports the HTTP faults as not applicable. */
  leaveOutput(reason: NotApplicableReason): void {
    for (const active of this.#faults) {
      if (active.transformsOutput && !active.readsResponse) active.cannot(reason)
    }
  }

  /**
   * Restarts the faults for a response that may come again, because the part that was sent did not
   * contain it. Faults that held the response for the closed connection count as its cause.
   */
  restart(stop: Stop): void {
    this.fate.restart()
    this.stop = stop
    const before = this.#faults
    this.#faults = activeFaultsOf(this.plan, this, before)
    for (const active of before) active.drop()
  }

  /** Adds the faults of further rules. */
  addPlan(plan: Plan): void {
    const own = this.plan
    this.plan =
      own === undefined ? plan : { matched: [...own.matched, ...plan.matched], dryRun: false }
    this.#faults = [...this.#faults, ...activeFaultsOf(plan, this)]
  }

  /** Ends the faults with the exchange. */
  close(): void {
    // Before the faults end: `origin` is read again afterwards.
    this.fate.count()
    this.copies?.drop()
    for (const active of this.#faults) active.close()
    if (this.plan !== undefined) finishPlan(this.plan)
  }
}

/** Creates the active faults of a plan, in order; `before` are the faults that they replace. */
function activeFaultsOf(
  plan: Plan | undefined,
  owner: ActiveFaultOwner,
  before: readonly ActiveFault[] = [],
): readonly ActiveFault[] {
  const faults: ActiveFault[] = []
  for (const matched of plan?.matched ?? []) {
    if (matched.dryRun) continue
    for (const index of matched.rule.faults.keys()) {
      faults.push(new ActiveFault(matched, index, owner, before[faults.length]?.acted))
    }
  }
  return faults
}
