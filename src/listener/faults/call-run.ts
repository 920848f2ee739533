import type { Call, Origin } from '../../mcp/call.ts'
import type { Message } from '../../mcp/message.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import type { Verdict } from '../../filters/fault.ts'
import type { Plan } from '../../rules/plan.ts'
import type { FaultListener, NotApplicableReason } from './fault-events.ts'
import type { TurnSetting } from './turn-setting.ts'
import { FaultTurn, type TurnHost } from './fault-turn.ts'
import { answerStage, transformStage, type AnswerCheck, type FrameFlow } from './fault-stage.ts'

/** What the request phase comes to for one call. */
export type RequestVerdict = Exclude<Verdict, { readonly kind: 'hang' }>

/** Says why a verdict cannot be carried out; what must happen at once, happens here. */
export type Admit = (
  run: CallRun,
  verdict: Verdict,
  mark: string,
) => NotApplicableReason | undefined

const CONTINUE: RequestVerdict = { kind: 'continue' }

/** The faults of one call, or of an exchange that a rule about HTTP hit. */
export class CallRun implements TurnHost {
  readonly call: Call | undefined
  readonly setting: TurnSetting
  readonly signal: AbortSignal
  readonly listener: FaultListener
  /** A fault has given the answer, or taken it away. */
  madeOutcome = false
  /** What the app answered, as far as it is known. */
  appAnswer: Message | undefined
  /** The client has been sent the end of the call. */
  answered = false
  readonly #turns: readonly FaultTurn[]
  #marks: string[] = []

  constructor(
    call: Call | undefined,
    plan: Plan | undefined,
    setting: TurnSetting,
    signal: AbortSignal,
    listener: FaultListener,
  ) {
    this.call = call
    this.setting = setting
    this.signal = signal
    this.listener = listener
    const turns: FaultTurn[] = []
    for (const hit of plan?.hits ?? []) {
      if (hit.shadow) continue
      for (const index of hit.rule.faults.keys()) turns.push(new FaultTurn(hit, index, this))
    }
    this.#turns = turns
  }

  /** Who made the call's outcome. A call that ends while a fault holds it was ended by that. */
  get origin(): Origin {
    return this.madeOutcome || this.#turns.some((turn) => turn.acting) ? 'injected' : 'upstream'
  }

  /** True when a fault wants to see the call before the app does. */
  get actsOnRequest(): boolean {
    return this.#turns.some(({ fault }) => fault.onRequest !== undefined)
  }

  /** True when a fault wants to see the answer. */
  get actsOnAnswer(): boolean {
    return this.#turns.some((turn) => hearsAnswer(turn))
  }

  /** True when a fault may want to replace the whole answer. */
  get mayReplace(): boolean {
    return this.#turns.some(({ fault }) => fault.onAnswer !== undefined)
  }

  mark(mark: string): void {
    if (!this.#marks.includes(mark)) this.#marks.push(mark)
  }

  /** The marks that are still to be sent. */
  takeMarks(): readonly string[] {
    const marks = this.#marks
    if (marks.length > 0) this.#marks = []
    return marks
  }

  /** Asks every fault in turn; the first verdict that can be carried out ends the chain. */
  async request(admit: Admit): Promise<RequestVerdict> {
    for (const turn of this.#turns) {
      if (this.signal.aborted) break
      if (turn.fault.onRequest === undefined) continue
      const hook = turn.fault.onRequest.bind(turn.fault)
      const verdict = await turn.decide(hook, (wanted) => admit(this, wanted, turn.mark))
      if (verdict.kind === 'hang') {
        // It goes on only when nobody waits for silence any more: the client's leaving rejects too.
        await turn.hang().catch(() => undefined)
      } else if (verdict.kind !== 'continue') {
        this.madeOutcome = true
        turn.settle()
        return verdict
      }
    }
    return CONTINUE
  }

  /** Leads an answer's frames through the faults, in order. */
  chain(input: FrameFlow, check: AnswerCheck): FrameFlow {
    let flow = input
    for (const turn of this.#turns) {
      if (turn.fault.onAnswer !== undefined) flow = answerStage(turn, flow, check)
      if (turn.fault.onResponse !== undefined) flow = transformStage(turn, flow)
    }
    return flow
  }

  /** The answer cannot be given to its faults. */
  leaveAnswer(reason: NotApplicableReason): void {
    for (const turn of this.#turns) if (hearsAnswer(turn)) turn.notApplicable(reason)
  }

  /** The client gets this as the end of the call. */
  answeredBy(message: Message | undefined): void {
    this.answered = true
    const { call, appAnswer } = this
    if (message === appAnswer || call === undefined) return
    const before = appAnswer === undefined ? undefined : outcomeOf(call, appAnswer)
    if (before !== (message === undefined ? undefined : outcomeOf(call, message))) {
      this.madeOutcome = true
    }
  }

  /** The exchange is over. */
  close(): void {
    // Asked once more after this, when nothing acts any longer.
    this.madeOutcome ||= this.origin === 'injected'
    for (const turn of this.#turns) turn.close()
  }
}

function hearsAnswer({ fault }: FaultTurn): boolean {
  return fault.onAnswer !== undefined || fault.onResponse !== undefined
}
