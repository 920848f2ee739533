import type { Call, Origin } from '../../mcp/call.ts'
import type { RequestHead } from '../../mcp/http.ts'
import { asSseEvent, isExactId, type Reply } from '../../mcp/reply.ts'
import type { Verdict } from '../../filters/fault.ts'
import { finishPlan, type Plan } from '../../rules/plan.ts'
import { CallRun, type Admit, type RequestVerdict } from './call-run.ts'
import type { FaultListener, NotApplicableReason } from './fault-events.ts'
import { markComments } from './fault-mark.ts'
import { replyMessage, type HttpReply } from './injected-answer.ts'
import type { PushChannel } from './push-channel.ts'
import type { TurnSetting } from './turn-setting.ts'

/** One call with the rules that hit it. */
export interface PlannedCall {
  readonly call: Call
  readonly plan: Plan | undefined
}

/** One exchange with what was planned for it. */
export interface FaultRunOptions extends TurnSetting {
  readonly request: RequestHead
  /** In the order of the request. */
  readonly calls: readonly PlannedCall[]
  readonly batch: boolean
  /** Of the rules about HTTP. */
  readonly exchangePlan?: Plan | undefined
  /** What the ledger knows the session by. */
  readonly session: string
  /** Answers up to this size are held for faults that need all of them. */
  readonly maxBody: number
  readonly listener: FaultListener
  readonly push?: PushChannel | undefined
  /** The request, or what is left of it, goes to the app now. */
  readonly onSent?: (() => void) | undefined
}

/** What the request phase comes to for the exchange. */
export type RequestOutcome =
  | { readonly kind: 'cut'; readonly how: 'rst' | 'fin' }
  | { readonly kind: 'http'; readonly reply: HttpReply }
  /** The calls at these places are answered, some of them by these messages; the rest goes on. */
  | {
      readonly kind: 'forward'
      readonly answered: ReadonlySet<number>
      readonly replies: readonly Reply[]
    }

/** The faults of one exchange, from its request to its end. */
export class FaultRun {
  readonly options: FaultRunOptions
  /** Of the rules about HTTP: its faults come before those of the calls. */
  readonly exchange: CallRun
  readonly calls: readonly CallRun[]
  /** Several calls share the exchange: what would hit all of them is not for a rule about one. */
  readonly shared: boolean
  readonly #stop = new AbortController()
  #finished = false

  constructor(options: FaultRunOptions) {
    const { listener, exchangePlan, calls } = options
    const { signal } = this.#stop
    this.options = options
    this.exchange = new CallRun(undefined, exchangePlan, options, signal, listener)
    this.calls = calls.map(({ call, plan }) => new CallRun(call, plan, options, signal, listener))
    this.shared = calls.length > 1
  }

  get all(): readonly CallRun[] {
    return [this.exchange, ...this.calls]
  }

  /** True when a fault wants to see the request before the app does. */
  get actsOnRequest(): boolean {
    return this.all.some((run) => run.actsOnRequest)
  }

  /** True when a fault wants to see the answer. */
  get actsOnAnswer(): boolean {
    return this.all.some((run) => run.actsOnAnswer)
  }

  /** Who made a call's outcome. Also to be asked after the end. */
  originOf(call: Call): Origin {
    if (this.exchange.origin === 'injected') return 'injected'
    return this.calls.find((run) => run.call === call)?.origin ?? 'upstream'
  }

  /** Runs the request phase. Never rejects. */
  async request(): Promise<RequestOutcome> {
    const admit: Admit = (run, verdict, mark) => this.#admit(run, verdict, mark)
    const whole = await this.exchange.request(admit)
    if (whole.kind === 'reset') return { kind: 'cut', how: whole.how }
    if (whole.kind === 'respond' && whole.reply.kind === 'http') {
      return { kind: 'http', reply: whole.reply }
    }
    // All at once: in one batch, no call waits for another one's fault longer than for its own.
    const verdicts = await Promise.all(this.calls.map((run) => run.request(admit)))
    return this.#outcome(verdicts)
  }

  /** Marks that no answer has carried yet. */
  takeMarks(): readonly string[] {
    return this.all.flatMap((run) => run.takeMarks())
  }

  /** The answer cannot be given to the faults that want it. */
  leaveAnswer(reason: NotApplicableReason): void {
    for (const run of this.all) run.leaveAnswer(reason)
  }

  /** No fault acts from here on, and what waits passes untouched: the sidecar drains. */
  disarm(): void {
    this.#stop.abort()
  }

  /** The exchange is over, however it ended. Safe to be called again. */
  finish(): void {
    if (this.#finished) return
    this.#finished = true
    for (const run of this.all) run.close()
    this.#stop.abort()
    const { exchangePlan, calls } = this.options
    if (exchangePlan !== undefined) finishPlan(exchangePlan)
    for (const { plan } of calls) if (plan !== undefined) finishPlan(plan)
  }

  #outcome(verdicts: readonly RequestVerdict[]): RequestOutcome {
    const answered = new Set<number>()
    const replies: Reply[] = []
    for (const [index, verdict] of verdicts.entries()) {
      if (verdict.kind === 'reset') return { kind: 'cut', how: verdict.how }
      if (verdict.kind !== 'respond') continue
      const { reply } = verdict
      if (reply.kind === 'http') return { kind: 'http', reply }
      const call = this.calls[index]!.call!
      answered.add(index)
      if (call.transport !== 'http+sse') replies.push(replyMessage(reply, call))
    }
    return { kind: 'forward', answered, replies }
  }

  #admit(run: CallRun, verdict: Verdict, mark: string): NotApplicableReason | undefined {
    const reason = this.unfit(run, verdict)
    if (reason !== undefined || verdict.kind !== 'respond') return reason
    const { call } = run
    const { reply } = verdict
    if (call?.transport !== 'http+sse' || reply.kind === 'http') return undefined
    // Said before it is sent, so that whoever sees the event knows whose it is.
    run.madeOutcome = true
    const { push, session } = this.options
    const { bytes } = asSseEvent(replyMessage(reply, call))
    const marked = Buffer.concat([markComments([mark]), bytes])
    const sent = push?.send(session, marked) ?? false
    run.madeOutcome = sent
    return sent ? undefined : 'no_push_stream'
  }

  /** Why a verdict on a call cannot be carried out on this exchange. */
  unfit(run: CallRun, verdict: Verdict): NotApplicableReason | undefined {
    const { call } = run
    if (verdict.kind === 'continue') return undefined
    if (verdict.kind !== 'respond' || verdict.reply.kind === 'http') {
      return call !== undefined && this.shared ? 'shared_exchange' : undefined
    }
    if (call === undefined) return 'nothing_to_act_on'
    return isExactId(call.id) ? undefined : 'inexact_id'
  }
}
