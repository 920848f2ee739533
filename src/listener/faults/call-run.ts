import type { Call, Origin } from '../../mcp/call.ts'
import type { ResponseHead } from '../../http/headers.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import { ENDLESS, type Room } from '../../base/room.ts'
import type { EditCall, Verdict } from '../../filters/fault.ts'
import type { Plan } from '../../rules/select/plan.ts'
import { CopyOrders } from './request/copy-order.ts'
import type { FaultListener, NotApplicableReason } from './fault-events.ts'
import type { Stop } from './chain/stop.ts'
import type { FaultRunOptions } from './fault-run-options.ts'
import type { TurnSetting } from './chain/turn-setting.ts'
import { hearsResponse, makesOutput, turnsOf } from './chain/call-turns.ts'
import type { FaultTurn, TurnHost, Unfit } from './chain/fault-turn.ts'
import { responseStage, transformStage } from './chain/fault-chain.ts'
import type { ResponseCheck, FrameFlow } from './chain/fault-chain.ts'

/** What the request phase comes to for one call: what else faults want is done by then. */
export type RequestVerdict = Exclude<Verdict, { readonly kind: 'hang' | 'edit' | 'copies' }>

/** Says why a verdict cannot be carried out; what must happen at once, happens here. */
export type Admit = (run: CallRun, verdict: Verdict, turn: FaultTurn) => Unfit

const CONTINUE: RequestVerdict = { kind: 'continue' }

/** The faults of one call, or of an exchange that a rule about HTTP hit. */
export class CallRun implements TurnHost {
  readonly call: Call | undefined
  plan: Plan | undefined
  readonly setting: TurnSetting
  stop: Stop
  readonly listener: FaultListener
  readonly memory: Room
  readonly copies = new CopyOrders()
  /** A fault has given the response, or taken it away. */
  madeOutcome = false
  /** What the app answered, as far as it is known. */
  appResponse: Message | undefined
  response: ResponseHead | undefined
  /** The client has been sent the end of the call. */
  responded = false
  /** The response comes by another connection than the request's. */
  elsewhere = false
  /** Its response may come again by a stream that the client resumes. */
  resumable = false
  /** The client gave it up before the upstream got it, which it never will. */
  givenUp = false
  /** Its plan has been finished. */
  closed = false
  /** The call has been counted: nobody waits for its response any more. */
  released = false
  /** A fault had kept the response when the connection ended that it was for. */
  #held = false
  #edits: EditCall[] = []
  /** What is on its way to the client is what the app gave. */
  #madeGood = false
  #turns: readonly FaultTurn[]
  #markers: string[] = []
  #headMarks: string[] = []

  constructor(
    call: Call | undefined,
    plan: Plan | undefined,
    setting: TurnSetting & Pick<FaultRunOptions, 'listener'>,
    stop: Stop,
    memory = ENDLESS,
  ) {
    this.call = call
    this.plan = plan
    this.setting = setting
    this.stop = stop
    this.listener = setting.listener
    this.memory = memory
    this.#turns = this.#newTurns([])
  }

  /** Who made the call's outcome. A call that ends while a fault holds it was ended by that. */
  get origin(): Origin {
    return this.madeOutcome || this.#held || this.#turns.some((turn) => turn.acting)
      ? 'injected'
      : 'upstream'
  }

  /** True while a fault lets time pass. */
  get waits(): boolean {
    return this.#turns.some((turn) => turn.waits)
  }

  /** True when the client gets, or the app was asked, something else than without the faults. */
  get changed(): boolean {
    return this.edits.length > 0 || (!this.#madeGood && this.#turns.some((turn) => turn.changed))
  }

  /** True when a fault wants to see the call before the app does. */
  get actsOnRequest(): boolean {
    return this.#turns.some(({ fault }) => fault.onRequest !== undefined)
  }

  /** True when a fault wants to see the response, and that comes by the request's own exchange. */
  get actsOnResponse(): boolean {
    return !this.elsewhere && this.hearsResponse
  }

  /** True when a fault wants to see the response, however it comes. */
  get hearsResponse(): boolean {
    return this.#turns.some((turn) => hearsResponse(turn))
  }

  /** The turns of the faults that take the response as HTTP, in order. */
  get outputs(): readonly FaultTurn[] {
    return this.#turns.filter(makesOutput)
  }

  /** True when a fault may want to replace the whole response. */
  get mayReplace(): boolean {
    return this.#turns.some(({ fault }) => fault.beforeResponse !== undefined)
  }

  marker(marker: string, onHead: boolean): void {
    const markers = onHead ? this.#headMarks : this.#markers
    if (!markers.includes(marker)) markers.push(marker)
  }

  /** True when there is a mark to be sent. */
  get marked(): boolean {
    return this.#markers.length > 0
  }

  /** The marks that only a head can carry, when it is sent. */
  takeHeadMarks(): readonly string[] {
    return this.#headMarks.splice(0)
  }

  /** True once the session of the call has ended, by a fault or by the app. */
  get sessionOver(): boolean {
    return this.copies.sessionEnded || this.setting.host.isSessionOver()
  }

  /** The edits of the call, in order. */
  get edits(): readonly EditCall[] {
    return this.#edits
  }

  /** The marks that are still to be sent. */
  takeMarks(): readonly string[] {
    const markers = this.#markers
    if (markers.length > 0) this.#markers = []
    return markers
  }

  /**
   * Asks every fault in turn; the first verdict that can be carried out ends the chain. Until one has
   * kept the call, delays are counted from `since` on.
   */
  async request(admit: Admit, since?: number): Promise<RequestVerdict> {
    let from = since
    for (const turn of this.#turns) {
      if (this.stop.aborted) break
      if (turn.heard || turn.fault.onRequest === undefined) continue
      const hook = turn.fault.onRequest.bind(turn.fault)
      const verdict = await turn.decide(hook, (wanted) => admit(this, wanted, turn), from)
      from = undefined
      if (verdict.kind === 'hang') {
        // It goes on only when nobody waits for silence any more: the client's leaving rejects too.
        await turn.hang().catch(() => undefined)
      } else if (verdict.kind === 'edit') {
        // What the app makes of it is the fault's doing, also when the app is who answers.
        this.madeOutcome = true
        this.#edits.push(verdict.edit)
        turn.settle()
      } else if (verdict.kind === 'copies') {
        const { copies, spacing } = verdict
        this.copies.add({ turn, copies, spacing })
      } else if (verdict.kind !== 'continue') {
        this.madeOutcome = true
        turn.settle()
        return verdict
      }
    }
    return CONTINUE
  }

  /** Leads a response's frames through the faults, in order. */
  chain(input: FrameFlow, check: ResponseCheck, uncut?: NotApplicableReason): FrameFlow {
    let flow = input
    for (const turn of this.#turns) {
      if (turn.fault.beforeResponse !== undefined) flow = responseStage(turn, flow, check)
      if (turn.fault.onResponse !== undefined) flow = transformStage(turn, flow, uncut)
    }
    return flow
  }

  /** The response cannot be given to its faults. */
  leaveResponse(reason: NotApplicableReason): void {
    for (const turn of this.#turns) {
      if (hearsResponse(turn) && !makesOutput(turn)) turn.notApplicable(reason)
    }
  }

  /** The response cannot be given to its faults as HTTP. */
  leaveOutput(reason: NotApplicableReason): void {
    for (const turn of this.#turns) {
      if (makesOutput(turn) && !hearsResponse(turn)) turn.notApplicable(reason)
    }
  }

  /** The response cannot be given to its faults in any form. */
  leaveAll(reason: NotApplicableReason): void {
    for (const turn of this.#turns) {
      if (makesOutput(turn) || hearsResponse(turn)) turn.notApplicable(reason)
    }
  }

  /** The client gets this as the end of the call. */
  respondedBy(message: Message | undefined): void {
    this.responded = true
    this.#held = false
    const { call, appResponse } = this
    if (message === appResponse || call === undefined) return
    const before = appResponse === undefined ? undefined : outcomeOf(call, appResponse)
    // With another id it answers nobody.
    const reaches = message !== undefined && isResponseTo(call, message)
    if (before !== (reaches ? outcomeOf(call, message) : undefined)) {
      this.madeOutcome = true
    }
  }

  /**
   * What was sent of the response did not bring it, and it may come again: its faults begin anew. What
   * they held for a connection that is gone was held by them.
   */
  renew(stop: Stop): void {
    this.#held ||= this.origin === 'injected'
    this.madeOutcome = this.edits.length > 0
    this.#madeGood = false
    this.stop = stop
    this.appResponse = undefined
    this.responded = false
    const before = this.#turns
    this.#turns = this.#newTurns(before)
    for (const turn of before) turn.drop()
  }

  /** What faults kept from the client gets through after all, by another connection. */
  makeGood(): void {
    this.#held = false
    this.#madeGood = true
    this.madeOutcome = this.edits.length > 0
  }

  /** More rules hit, behind those that did before. */
  join(plan: Plan): void {
    const own = this.plan
    this.plan = own === undefined ? plan : { hits: [...own.hits, ...plan.hits], dryRun: false }
    this.#turns = [...this.#turns, ...turnsOf(plan, this)]
  }

  #newTurns(before: readonly FaultTurn[]): readonly FaultTurn[] {
    return turnsOf(this.plan, this, before)
  }

  /** The exchange is over. */
  close(): void {
    // Asked once more after this, when nothing acts any longer.
    this.madeOutcome ||= this.origin === 'injected'
    this.copies.drop()
    for (const turn of this.#turns) turn.close()
  }
}

function isResponseTo({ id }: Call, message: Message): boolean {
  const ends = message.kind === 'result' || message.kind === 'error'
  return ends && (message.id === id || message.id === null)
}
