import { type Call, type Origin, type Outcome, sharesStream } from '../../mcp/call.ts'
import type { ResponseHead } from '../../http/headers.ts'
import type { Reply } from '../../mcp/reply.ts'
import { redirectTarget } from '../../http/redirect-target.ts'
import type { Plan } from '../../rules/select/plan.ts'
import { admitVerdict } from './request/verdicts.ts'
import { type Admit, CallFaults } from './call-faults.ts'
import type { CallTexts } from './request/call-texts.ts'
import type { NotApplicableReason } from './exchange-context.ts'
import type { ActiveFault } from './chain/active-fault.ts'
import { HeldRequest, requestOutcome } from './request/held-request.ts'
import { pipeMessages } from './request/single-messages.ts'
import { PushedCalls } from './source/pushed-calls.ts'
import { ExchangeMemory, MemoryBudget } from '../memory-budget.ts'
import type {
  ExchangeFaultsOptions,
  ExchangeParts,
  PlanResponse,
  PlannedCall,
  RequestOutcome,
} from './exchange-faults-options.ts'

/** Runs the faults of one exchange, from its request to its end. */
export class ExchangeFaults implements ExchangeParts {
  readonly options: ExchangeFaultsOptions
  /** The faults of HTTP rules, which precede those of the calls. */
  readonly exchange: CallFaults
  readonly calls: readonly CallFaults[]
  readonly messages: readonly CallFaults[]
  readonly posted: readonly CallFaults[]
  readonly shared: boolean
  /** The calls to which the request phase has replied, by index, with the messages. */
  readonly #responded: number[] = []
  readonly #replies: Reply[] = []
  readonly all: readonly CallFaults[]
  readonly memory: ExchangeMemory
  readonly #held: HeldRequest
  readonly #pushed: PushedCalls | undefined
  #planResponse: PlanResponse | undefined
  #receivedAt: number | undefined
  #redirect: 'passes' | 'held' | undefined
  #finished = false

  constructor(options: ExchangeFaultsOptions) {
    const { exchangePlan, calls, messages = [] } = options
    const held = (this.#held = new HeldRequest(calls.length + messages.length))
    const { memory: budget = new MemoryBudget(Infinity), weight = 0 } = options
    const memory = (this.memory = new ExchangeMemory(budget, weight, () => {
      for (const faults of this.all) {
        faults.leaveResponse('memory')
        faults.stop.abort()
      }
    }))
    this.options = options
    this.#planResponse = options.planResponse
    this.#receivedAt = options.receivedAt
    this.exchange = new CallFaults(undefined, exchangePlan, options, held.stop, memory)
    const faultsOf = ({ call, plan, disturbs }: PlannedCall, index: number): CallFaults =>
      new CallFaults(call, plan, options, held.stopOf(index), memory, disturbs)
    this.calls = calls.map(faultsOf)
    this.messages = messages.map((each, index) => faultsOf(each, calls.length + index))
    this.posted = messages.length === 0 ? this.calls : [...this.calls, ...this.messages]
    this.all = [this.exchange, ...this.posted]
    this.shared = calls.length > 1
    if (options.push !== undefined && options.session !== '') {
      this.#pushed = new PushedCalls(options.push, options, (faults) => this.#close(faults))
    }
  }

  /** True when a fault acts on the request. */
  get actsOnRequest(): boolean {
    return this.all.some((faults) => faults.actsOnRequest) || this.messages.length > 0
  }

  get actsOnResponse(): boolean {
    return this.exchange.actsOnResponse || this.calls.some((faults) => faults.actsOnResponse)
  }

  /** The faults that act on the response as HTTP, in order. */
  get outputs(): readonly { readonly owner: CallFaults; readonly active: ActiveFault }[] {
    const { exchange, shared, calls } = this
    const outputs = exchange.outputs.map((active) => ({ owner: exchange, active }))
    const owner = shared ? undefined : calls[0]
    if (owner === undefined || sharesStream(owner.call?.transport)) return outputs
    for (const active of owner.outputs) outputs.push({ owner, active })
    return outputs
  }

  /** True when the next message for the client carries a marker. */
  get hasMarkers(): boolean {
    return this.all.some((faults) => faults.hasMarkers)
  }

  /** The origin of the status of an exchange without calls. */
  get origin(): Origin {
    const isInjected = [this.exchange, ...this.messages].some(({ origin }) => origin === 'injected')
    return isInjected ? 'injected' : 'real'
  }

  /** Returns the origin of a call's outcome; valid also after the end. */
  originOf(call: Call): Origin {
    if (this.exchange.origin === 'injected') return 'injected'
    const own = this.of(call)?.origin ?? 'real'
    // A call that waits with its batch for the fault of another call counts as injected.
    return own === 'real' && this.#held.keptBy(this.all) ? 'injected' : own
  }

  /** True while faults hold the request, or before they are asked. */
  get holds(): boolean {
    return this.actsOnRequest && this.#held.waits(this.all)
  }

  /** Resolves when the upstream has the request, or never gets it; undefined when it has it. */
  get whenSent(): Promise<void> | undefined {
    return this.#held.whenSent
  }

  /** Handles a cancelled call: it is not sent when faults still hold it. */
  abandon(call: Call): void {
    if (this.holds) this.#held.abandon(this.calls, call)
  }

  /** Delays the request until `until` resolves. */
  suspend(until: Promise<void>): void {
    this.#held.suspend(this.all, until)
  }

  /** Returns true for a call that faults changed; valid also after the end. */
  hasChanged(call: Call): boolean {
    return this.exchange.changed || this.of(call)?.changed === true
  }

  /** Returns the outcome of a call whose response was not read on its way to the client. */
  unreadOutcome(call: Call): Outcome {
    const faults = this.of(call)
    // A fault may have damaged the response.
    if (!faults?.edits.length && this.originOf(call) === 'injected') return 'incomplete'
    return faults?.fate.outcome ?? 'ok'
  }

  /** Asks the faults about the request. Waits only for faults that wait. */
  async request(texts: CallTexts): Promise<RequestOutcome> {
    this.#held.begun = true
    const admit: Admit = (faults, verdict, active) =>
      admitVerdict(faults, verdict, active, this, texts)
    const { exchange, posted } = this
    const receivedAt = this.#receivedAt
    for (let index = 0; index < posted.length; index++) {
      for (const edit of posted[index]!.edits) await texts.edit(index, edit)
    }
    if (exchange.actsOnRequest) {
      const whole = await exchange.request(admit, receivedAt)
      if (whole.kind === 'reset') return { kind: 'cut', how: whole.how }
      if (whole.kind === 'respond' && whole.reply.kind === 'http') {
        return { kind: 'http', reply: whole.reply }
      }
    }
    // A fault of the exchange may have taken time before the calls' faults.
    const since = exchange.actsOnRequest ? undefined : receivedAt
    const ask = (faults: CallFaults, at: number) =>
      this.#responded.includes(at) ? Promise.resolve(undefined) : faults.request(admit, since)
    // In parallel: in a batch no call waits for the fault of another call.
    const verdicts =
      posted.length === 1 ? [await ask(posted[0]!, 0)] : await Promise.all(posted.map(ask))
    const repeated =
      this.messages.length === 0 ? [] : await pipeMessages(this, verdicts, texts, this.#responded)
    const ready = this.#held.ready()
    if (ready !== undefined) await ready
    return requestOutcome(this, verdicts, this.#responded, this.#replies, repeated)
  }

  /** Plans the rules about the response's status. */
  responseBegins(head: ResponseHead): void {
    const plan = this.#planResponse?.(head.status)
    if (plan !== undefined) this.exchange.addPlan(plan)
    // A rule about the redirect itself acts on it; all others wait for the repeated request.
    else if (this.posted.length > 0 && redirectTarget(this.options.request, head) !== undefined) {
      this.#redirect = 'passes'
    }
  }

  /** True when the response passes unchanged because the client repeats the request. */
  get passesRedirect(): boolean {
    return this.#redirect !== undefined
  }

  /** Keeps the faults for the repeated request; returns false when that is impossible. */
  followRedirect(): boolean {
    if (this.#redirect === undefined) return false
    this.#redirect = 'held'
    return true
  }

  /** Continues with the repeated request; faults that were asked are not asked again. */
  repeated(
    exchangePlan: Plan | undefined,
    planResponse: PlanResponse | undefined,
    at: number,
  ): void {
    this.#redirect = undefined
    this.#held.repeated()
    this.#planResponse = planResponse
    this.#receivedAt = at
    if (exchangePlan !== undefined) this.exchange.addPlan(exchangePlan)
    for (const faults of this.posted) faults.copies?.repeat()
  }

  unfollowed(): void {
    this.#redirect = undefined
    this.finish()
  }

  takeMarkers(): readonly string[] {
    return this.passesRedirect || !this.hasMarkers
      ? []
      : this.all.flatMap((faults) => faults.takeMarkers())
  }

  takeHeadMarkers(): readonly string[] {
    return this.all.flatMap((faults) => faults.takeHeadMarkers())
  }

  /** Reports the faults that act on messages as not applicable. */
  leaveResponse(reason: NotApplicableReason): void {
    for (const faults of [this.exchange, ...this.calls]) faults.leaveResponse(reason)
  }

  /** Stops all faults because the sidecar drains; held messages continue unchanged. */
  disarm(): void {
    this.#held.abort()
  }

  /** Records that the request is sent, and arms the faults of responses on other connections. */
  forwarded(): void {
    this.#held.forwarded()
    for (const faults of this.calls) {
      if (!sharesStream(faults.call?.transport) || faults.fate.isElsewhere) continue
      faults.fate.respondElsewhere()
      faults.leaveOutput(faults.call?.transport === 'stdio' ? 'no_http' : 'responded_elsewhere')
      if (faults.fate.responded || !faults.readsResponse) continue
      const reason = this.#pushed === undefined ? 'responded_elsewhere' : this.#pushed.arm(faults)
      if (reason !== undefined) faults.leaveResponse(reason)
    }
  }

  /** Ends the faults with the exchange. Idempotent. */
  finish(): void {
    if (this.#finished || this.#redirect === 'held') return
    this.#finished = true
    for (const faults of this.all) if (!this.#outlives(faults)) this.#close(faults)
    this.#held.end()
  }

  /** Records event ids in the stream. */
  mayResume(): void {
    for (const { fate } of this.calls) fate.mayResume()
  }

  /** Ends the faults of a settled call, except for messages that they still send. */
  release(call: Call): void {
    const faults = this.of(call)
    if (faults === undefined || faults.fate.isReleased) return
    faults.fate.release()
    if (this.#pushed?.release(faults) !== true && this.#finished) this.#close(faults)
  }

  /** Records a response that reaches the client after the exchange. */
  responded(call: Call): void {
    const faults = this.of(call)
    // While the exchange is open, its faults determine the response.
    if (faults === undefined || !this.#finished || sharesStream(call.transport)) return
    if (!this.shared) this.exchange.fate.restore()
    if (this.#pushed?.has(faults) !== true) faults.fate.restore()
  }

  /** Records that a fault changed or ended the response: one of the exchange affects all calls. */
  changedBy(owner: CallFaults): void {
    const affected = owner === this.exchange && this.calls.length > 0 ? this.calls : [owner]
    for (const { fate } of affected) fate.changed()
  }

  of(call: Call): CallFaults | undefined {
    return this.calls.find((each) => each.call === call)
  }

  /** Returns true for a call whose response may come after the exchange. */
  #outlives(faults: CallFaults): boolean {
    if (this.#pushed?.has(faults) === true) return true
    if (!faults.fate.isResumable || faults.fate.isReleased) return false
    const pushed = this.#pushed
    return faults.readsResponse && pushed !== undefined && pushed.arm(faults) === undefined
  }

  #close(faults: CallFaults): void {
    if (faults.fate.isCounted) return
    faults.close()
    if (this.all.every(({ fate }) => fate.isCounted)) this.memory.close()
  }
}
