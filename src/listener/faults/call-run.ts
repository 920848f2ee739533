import type { Call, Origin } from '../../mcp/call.ts'
import type { ResponseHead } from '../../http/headers.ts'
import type { Message } from '../../mcp/message.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import { ENDLESS, type Room } from '../../base/room.ts'
import type { EditCall, Verdict } from '../../filters/fault.ts'
import type { Plan } from '../../rules/select/plan.ts'
import { CopyOrders } from './request/copy-order.ts'
import type { FaultListener, NotApplicableReason } from './fault-events.ts'
import type { Stop } from './chain/stop.ts'
import type { FaultRunOptions } from './fault-run-options.ts'
import type { TurnSetting } from './chain/turn-setting.ts'
import { hearsAnswer, makesOutput, turnsOf } from './chain/call-turns.ts'
import type { FaultTurn, TurnHost, Unfit } from './chain/fault-turn.ts'
import { answerStage, transformStage } from './chain/fault-chain.ts'
import type { AnswerCheck, FrameFlow } from './chain/fault-chain.ts'

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
  /** A fault has given the answer, or taken it away. */
  madeOutcome = false
  /** What the app answered, as far as it is known. */
  appAnswer: Message | undefined
  response: ResponseHead | undefined
  /** The client has been sent the end of the call. */
  answered = false
  /** The answer comes by another connection than the request's. */
  elsewhere = false
  /** Its answer may come again by a stream that the client resumes. */
  resumable = false
  /** The client gave it up before the upstream got it, which it never will. */
  givenUp = false
  /** Its plan has been finished. */
  closed = false
  /** The call has been counted: nobody waits for its answer any more. */
  released = false
  /** A fault had kept the answer when the connection ended that it was for. */
  #held = false
  #edits: EditCall[] = []
  /** What is on its way to the client is what the app gave. */
  #madeGood = false
  #turns: readonly FaultTurn[]
  #marks: string[] = []
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

  /** True when a fault wants to see the answer, and that comes by the request's own exchange. */
  get actsOnAnswer(): boolean {
    return !this.elsewhere && this.hearsAnswer
  }

  /** True when a fault wants to see the answer, however it comes. */
  get hearsAnswer(): boolean {
    return this.#turns.some((turn) => hearsAnswer(turn))
  }

  /** The turns of the faults that take the answer as HTTP, in order. */
  get outputs(): readonly FaultTurn[] {
    return this.#turns.filter(makesOutput)
  }

  /** True when a fault may want to replace the whole answer. */
  get mayReplace(): boolean {
    return this.#turns.some(({ fault }) => fault.onAnswer !== undefined)
  }

  mark(mark: string, onHead: boolean): void {
    const marks = onHead ? this.#headMarks : this.#marks
    if (!marks.includes(mark)) marks.push(mark)
  }

  /** True when there is a mark to be sent. */
  get marked(): boolean {
    return this.#marks.length > 0
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
    const marks = this.#marks
    if (marks.length > 0) this.#marks = []
    return marks
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

  /** Leads an answer's frames through the faults, in order. */
  chain(input: FrameFlow, check: AnswerCheck, uncut?: NotApplicableReason): FrameFlow {
    let flow = input
    for (const turn of this.#turns) {
      if (turn.fault.onAnswer !== undefined) flow = answerStage(turn, flow, check)
      if (turn.fault.onResponse !== undefined) flow = transformStage(turn, flow, uncut)
    }
    return flow
  }

  /** The answer cannot be given to its faults. */
  leaveAnswer(reason: NotApplicableReason): void {
    for (const turn of this.#turns) {
      if (hearsAnswer(turn) && !makesOutput(turn)) turn.notApplicable(reason)
    }
  }

  /** The answer cannot be given to its faults as HTTP. */
  leaveOutput(reason: NotApplicableReason): void {
    for (const turn of this.#turns) {
      if (makesOutput(turn) && !hearsAnswer(turn)) turn.notApplicable(reason)
    }
  }

  /** The answer cannot be given to its faults in any form. */
  leaveAll(reason: NotApplicableReason): void {
    for (const turn of this.#turns) {
      if (makesOutput(turn) || hearsAnswer(turn)) turn.notApplicable(reason)
    }
  }

  /** The client gets this as the end of the call. */
  answeredBy(message: Message | undefined): void {
    this.answered = true
    this.#held = false
    const { call, appAnswer } = this
    if (message === appAnswer || call === undefined) return
    const before = appAnswer === undefined ? undefined : outcomeOf(call, appAnswer)
    // With another id it answers nobody.
    const reaches = message !== undefined && isAnswerTo(call, message)
    if (before !== (reaches ? outcomeOf(call, message) : undefined)) {
      this.madeOutcome = true
    }
  }

  /**
   * What was sent of the answer did not bring it, and it may come again: its faults begin anew. What
   * they held for a connection that is gone was held by them.
   */
  renew(stop: Stop): void {
    this.#held ||= this.origin === 'injected'
    this.madeOutcome = this.edits.length > 0
    this.#madeGood = false
    this.stop = stop
    this.appAnswer = undefined
    this.answered = false
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
    this.plan = own === undefined ? plan : { hits: [...own.hits, ...plan.hits], shadow: false }
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

function isAnswerTo({ id }: Call, message: Message): boolean {
  const ends = message.kind === 'result' || message.kind === 'error'
  return ends && (message.id === id || message.id === null)
}
