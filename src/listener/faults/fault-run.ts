import type { Call, Origin } from '../../mcp/call.ts'
import type { ResponseHead } from '../../http/headers.ts'
import type { Reply } from '../../mcp/reply.ts'
import { redirectTarget } from '../../http/redirect-target.ts'
import { isModern } from '../../mcp/protocol-version.ts'
import { finishPlan, type Plan } from '../../rules/select/plan.ts'
import { admitVerdict } from './request/admit-verdict.ts'
import { CallRun, type Admit, type RequestVerdict } from './call-run.ts'
import type { CallTexts } from './request/call-texts.ts'
import type { NotApplicableReason } from './fault-events.ts'
import type { FaultTurn } from './chain/fault-turn.ts'
import { HeldRequest } from './request/held-request.ts'
import { replyMessage } from './emit/injected-response.ts'
import { PushedRuns } from './source/pushed-runs.ts'
import { RunMemory } from './run-memory.ts'
import type { FaultRunOptions, PlanResponse, RequestOutcome } from './fault-run-options.ts'

/** A fault that takes the response as HTTP, and whose it is. */
export interface OutputTurn {
  readonly owner: CallRun
  readonly turn: FaultTurn
}

/** The faults of one exchange, from its request to its end. */
export class FaultRun {
  readonly options: FaultRunOptions
  /** Of the rules about HTTP: its faults come before those of the calls. */
  readonly exchange: CallRun
  readonly calls: readonly CallRun[]
  /** Several calls share the exchange: what would hit all of them is not for a rule about one. */
  readonly shared: boolean
  /** The calls that the request phase has answered, by their places, and the messages for it. */
  readonly #responded = new Set<number>()
  readonly #replies: Reply[] = []
  readonly memory: RunMemory
  readonly #held: HeldRequest
  readonly #pushed: PushedRuns | undefined
  #planResponse: PlanResponse | undefined
  #receivedAt: number | undefined
  #redirect: 'passes' | 'held' | undefined
  #finished = false

  constructor(options: FaultRunOptions) {
    const { exchangePlan, calls } = options
    const held = (this.#held = new HeldRequest(calls.length))
    const memory = (this.memory = new RunMemory(options, () => this.all))
    this.options = options
    this.#planResponse = options.planResponse
    this.#receivedAt = options.receivedAt
    this.exchange = new CallRun(undefined, exchangePlan, options, held.stop, memory)
    this.calls = calls.map(
      ({ call, plan }, place) => new CallRun(call, plan, options, held.stopOf(place), memory),
    )
    this.shared = calls.length > 1
    if (options.lanes !== undefined && options.session !== '') {
      this.#pushed = new PushedRuns(options.lanes, options, (run) => this.#close(run))
    }
  }

  get all(): readonly CallRun[] {
    return [this.exchange, ...this.calls]
  }

  /** True when a fault wants to see the request before the app does. */
  get actsOnRequest(): boolean {
    return this.all.some((run) => run.actsOnRequest)
  }

  get actsOnResponse(): boolean {
    return this.all.some((run) => run.actsOnResponse)
  }

  /** The faults that take the app's response as HTTP, in the order in which they get it. */
  get outputs(): readonly OutputTurn[] {
    const [call] = this.calls
    const runs = [this.exchange]
    if (call !== undefined && !this.shared && call.call?.transport !== 'http+sse') runs.push(call)
    return runs.flatMap((owner) => owner.outputs.map((turn) => ({ owner, turn })))
  }

  /** True when what the client gets next carries a mark. */
  get marked(): boolean {
    return this.all.some((run) => run.marked)
  }

  /** Who made a call's outcome. Also to be asked after the end. */
  originOf(call: Call): Origin {
    if (this.exchange.origin === 'injected') return 'injected'
    const own = this.calls.find((run) => run.call === call)?.origin ?? 'upstream'
    // Also one that waits with its batch for the fault of another one.
    return own === 'upstream' && this.#held.keptBy(this.all) ? 'injected' : own
  }

  /** True while faults keep the request from the upstream, or before they begin to. */
  get holds(): boolean {
    return this.actsOnRequest && this.#held.waits(this.all)
  }

  /** Settled when the upstream has the request, or never gets it; undefined where it has it. */
  get going(): Promise<void> | undefined {
    return this.#held.going
  }

  /** The client has given a call up: what the upstream has not got of it by now it never gets. */
  abandon(call: Call): void {
    if (this.holds) this.#held.abandon(this.calls, call)
  }

  /** Nothing goes to the upstream before this is settled. */
  suspend(until: Promise<void>): void {
    this.#held.suspend(this.all, until)
  }

  /** True for a call that faults changed, whoever made its outcome. Also to be asked after the end. */
  hasChanged(call: Call): boolean {
    return this.exchange.changed || (this.calls.find((run) => run.call === call)?.changed ?? false)
  }

  /** True for a call whose response is not the app's own any more. Also to be asked after the end. */
  damages(call: Call): boolean {
    const run = this.calls.find((each) => each.call === call)
    return !run?.edits.length && this.originOf(call) === 'injected'
  }

  async request(texts: CallTexts): Promise<RequestOutcome> {
    this.#held.begun = true
    const asked = { options: this.options, calls: this.calls, texts }
    const admit: Admit = (run, verdict, turn) => admitVerdict(run, verdict, turn.wireMark, asked)
    const receivedAt = this.#receivedAt
    for (const [place, run] of this.calls.entries()) {
      for (const edit of run.edits) await texts.edit(place, edit)
    }
    // Once a fault of the exchange has had its turn, time has passed.
    const since = this.exchange.actsOnRequest ? undefined : receivedAt
    const whole = await this.exchange.request(admit, receivedAt)
    if (whole.kind === 'reset') return { kind: 'cut', how: whole.how }
    if (whole.kind === 'respond' && whole.reply.kind === 'http') {
      return { kind: 'http', reply: whole.reply }
    }
    // All at once: in one batch, no call waits for another one's fault longer than for its own.
    const verdicts = await Promise.all(
      this.calls.map((run, at) =>
        this.#responded.has(at) ? Promise.resolve(undefined) : run.request(admit, since),
      ),
    )
    await this.#held.ready()
    return this.#outcome(verdicts)
  }

  /** The app's response begins: rules about its status hit now or not at all. */
  responseBegins(head: ResponseHead): void {
    const plan = this.#planResponse?.(head.status)
    if (plan !== undefined) this.exchange.join(plan)
    // A rule about the redirect itself acts on it; all others wait for what it leads to.
    else if (this.calls.length > 0 && redirectTarget(this.options.request, head) !== undefined) {
      this.#redirect = 'passes'
    }
  }

  /** True when the app's response goes by untouched: the client repeats the request. */
  get passesRedirect(): boolean {
    return this.#redirect !== undefined
  }

  /** The exchange ends with a redirect, and the run goes on with its repetition. False where it cannot. */
  followRedirect(): boolean {
    if (this.#redirect === undefined) return false
    this.#redirect = 'held'
    return true
  }

  /** The client repeats the request: faults that have had their turn have none again. */
  repeated(
    exchangePlan: Plan | undefined,
    planResponse: PlanResponse | undefined,
    at: number,
  ): void {
    this.#redirect = undefined
    this.#held.repeated()
    this.#planResponse = planResponse
    this.#receivedAt = at
    if (exchangePlan !== undefined) this.exchange.join(exchangePlan)
    for (const run of this.calls) run.copies.repeat()
  }

  unfollowed(): void {
    this.#redirect = undefined
    this.finish()
  }

  takeMarks(): readonly string[] {
    return this.passesRedirect ? [] : this.all.flatMap((run) => run.takeMarks())
  }

  /** Marks that a head can carry that is sent now. */
  takeHeadMarks(): readonly string[] {
    return this.all.flatMap((run) => run.takeHeadMarks())
  }

  /** The response cannot be given to the faults that want it. */
  leaveResponse(reason: NotApplicableReason): void {
    for (const run of this.all) run.leaveResponse(reason)
  }

  /** No fault acts from here on, and what waits passes untouched: the sidecar drains. */
  disarm(): void {
    this.#held.abort()
  }

  /** The request goes to the app now: the faults of what is answered elsewhere wait for it there. */
  forwarded(): void {
    this.#held.forwarded()
    for (const run of this.calls) {
      if (run.call?.transport !== 'http+sse' || run.elsewhere) continue
      run.elsewhere = true
      run.leaveOutput('answered_elsewhere')
      if (run.responded || !run.hearsResponse) continue
      const reason = this.#pushed === undefined ? 'answered_elsewhere' : this.#pushed.arm(run)
      if (reason !== undefined) run.leaveResponse(reason)
    }
  }

  /** The exchange is over, however it ended. Safe to be called again. */
  finish(): void {
    if (this.#finished || this.#redirect === 'held') return
    this.#finished = true
    for (const run of this.all) if (!this.#outlives(run)) this.#close(run)
    this.#held.end()
  }

  /** The stream has event ids: a client may have the rest of it sent again, before protocol version 2026-07-28. */
  mayResume(): void {
    for (const run of this.calls) run.resumable = !isModern(run.call?.protocolVersion)
  }

  /** A call has been counted: its faults do not outlive that by more than what they still send. */
  release(call: Call): void {
    const run = this.calls.find((each) => each.call === call)
    if (run === undefined || run.released) return
    run.released = true
    if (this.#pushed?.release(run) !== true && this.#finished) this.#close(run)
  }

  /** What answers a call goes to the client now: whatever kept a response from it before is made good. */
  responded(call: Call): void {
    const run = this.calls.find((each) => each.call === call)
    // As long as the exchange is open, the response is what its faults made of it.
    if (run === undefined || !this.#finished || call.transport === 'http+sse') return
    if (!this.shared) this.exchange.makeGood()
    if (this.#pushed?.has(run) !== true) run.makeGood()
  }

  /**
   * A fault has changed or ended the response. Where the exchange carries calls it is theirs: each of
   * them may yet get its own by another connection.
   */
  changedBy(owner: CallRun): void {
    const hit = owner === this.exchange && this.calls.length > 0 ? this.calls : [owner]
    for (const run of hit) run.madeOutcome = true
  }

  /** True for a call whose response may come when the exchange is over. */
  #outlives(run: CallRun): boolean {
    if (this.#pushed?.has(run) === true) return true
    if (!run.resumable || run.released) return false
    return run.hearsResponse && this.#pushed !== undefined && this.#pushed.arm(run) === undefined
  }

  #close(run: CallRun): void {
    if (run.closed) return
    run.closed = true
    run.close()
    if (run.plan !== undefined) finishPlan(run.plan)
    if (this.all.every((each) => each.closed)) this.memory.close()
  }

  #outcome(verdicts: readonly (RequestVerdict | undefined)[]): RequestOutcome {
    const responded = this.#responded
    for (const [index, verdict] of verdicts.entries()) {
      if (this.calls[index]!.givenUp) {
        responded.add(index)
        continue
      }
      if (verdict === undefined) continue
      if (verdict.kind === 'reset') return { kind: 'cut', how: verdict.how }
      if (verdict.kind !== 'respond') continue
      const { reply } = verdict
      if (reply.kind === 'http') {
        for (const each of this.calls) each.madeOutcome = true
        return { kind: 'http', reply }
      }
      const run = this.calls[index]!
      const call = run.call!
      run.responded = true
      responded.add(index)
      if (call.transport !== 'http+sse') this.#replies.push(replyMessage(reply, call))
    }
    return { kind: 'forward', responded, replies: this.#replies }
  }
}
