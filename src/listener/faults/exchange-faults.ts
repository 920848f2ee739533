import { type Call, type Origin, type Outcome, sharesStream } from '../../mcp/call.ts'
import type { ResponseHead } from '../../http/headers.ts'
import { outcomeOf } from '../../mcp/outcome.ts'
import type { Reply } from '../../mcp/reply.ts'
import { redirectTarget } from '../../http/redirect-target.ts'
import type { Plan } from '../../rules/select/plan.ts'
import { ExchangeMemory } from '../memory-budget.ts'
import {
  type CallInjection,
  type PlannedCall,
  actsOnResponse,
  addPlan,
  closeInjection,
  leave,
  openInjection,
  restart,
} from './call-injection.ts'
import { hasEnded, originOf, receivedOutcome, restore, takeMarkers } from './call-state.ts'
import { Stop } from './chain/stop.ts'
import type { ExchangeContext, InjectionParts, NotApplicableReason } from './exchange-context.ts'
import type { CallTexts } from './request/call-texts.ts'
import { pipeMessages } from './request/single-messages.ts'
import {
  type PostedCalls,
  type RequestOutcome,
  admitVerdict,
  askFaults,
  requestOutcome,
} from './request/verdicts.ts'
import type { PushStreams } from './source/push-streams.ts'
import type { MessagePlanner } from './source/server-messages.ts'

/** Plans the rules about the response's status. */
export type PlanResponse = (status: number) => Plan | undefined

/** The plans of one exchange. */
export interface PlannedExchange {
  /** In the order of the request. */
  readonly calls: readonly PlannedCall[]
  /** The other messages of the request, in its order; all of them or none. */
  readonly messages?: readonly PlannedCall[] | undefined
  /** The plan of the HTTP rules. */
  readonly exchangePlan?: Plan | undefined
  /** Called when the response begins. */
  readonly planResponse?: PlanResponse | undefined
  /** Plans the messages of the server in the response; undefined when no rule may need them. */
  readonly messagePlanner?: MessagePlanner | undefined
}

/** The facts of an exchange, with the streams on which responses may come. */
interface StreamedContext extends ExchangeContext {
  readonly parts: InjectionParts & { readonly push: PushStreams }
}

const RESOLVED = Promise.resolve()

/** Runs the faults of one exchange, from its request to its end. */
export class ExchangeFaults implements PostedCalls {
  readonly options: StreamedContext
  readonly planned: PlannedExchange
  /** The faults of HTTP rules, which precede those of the calls. */
  readonly exchange: CallInjection
  readonly calls: readonly CallInjection[]
  /** The calls and other messages, by the indexes of `CallTexts`. */
  readonly posted: readonly CallInjection[]
  readonly all: readonly CallInjection[]
  readonly shared: boolean
  readonly memory: ExchangeMemory
  /** Stops the faults of the whole exchange. */
  readonly #stop = new Stop()
  /** One for each message when several share the exchange. */
  readonly #stops: readonly Stop[]
  /** The messages that are answered by the request phase, by index, with the responses. */
  readonly #responded: number[] = []
  readonly #replies: Reply[] = []
  #planResponse: PlanResponse | undefined
  #receivedAt: number | undefined
  #redirect: 'passes' | 'held' | undefined
  /** Asked: the faults are. Sent: the upstream has the request, or what is left of it. */
  #request: 'arrived' | 'asked' | 'sent' = 'arrived'
  #whenSent: Promise<void> | undefined
  #resolveSent: (() => void) | undefined
  /** Pending while the request waits after its faults. */
  #until: Promise<void> | undefined
  #isWaiting = false
  #wasKept = false
  #isFinished = false

  constructor(options: StreamedContext, planned: PlannedExchange) {
    const { exchange, parts } = options
    const { calls, messages = [] } = planned
    const memory = (this.memory = new ExchangeMemory(parts.memory, exchange.weight ?? 0, () => {
      for (const own of this.all) {
        leave(own, 'messages', 'memory')
        own.stop.abort()
      }
    }))
    this.options = options
    this.planned = planned
    this.#planResponse = planned.planResponse
    this.#receivedAt = exchange.receivedAt
    const all = messages.length === 0 ? calls : [...calls, ...messages]
    const stops = (this.#stops = all.length > 1 ? all.map(() => new Stop()) : [])
    this.exchange = openInjection({ plan: planned.exchangePlan }, options, this.#stop, memory)
    this.posted = all.map((each, index) =>
      openInjection(each, options, stops[index] ?? this.#stop, memory),
    )
    this.calls = messages.length === 0 ? this.posted : this.posted.slice(0, calls.length)
    this.all = [this.exchange, ...this.posted]
    this.shared = calls.length > 1
  }

  /** The origin of the status of an exchange without calls. */
  get origin(): Origin {
    const owners = [this.exchange, ...this.posted.slice(this.calls.length)]
    return owners.some((own) => originOf(own) === 'injected') ? 'injected' : 'real'
  }

  /** Returns the origin of a call's outcome; valid also after the end. */
  originOf(call: Call): Origin {
    if (originOf(this.exchange) === 'injected') return 'injected'
    const own = this.#of(call)
    // A call that waits with its batch for the fault of another call counts as injected.
    if (own === undefined || originOf(own) === 'real') return this.#keeps ? 'injected' : 'real'
    return 'injected'
  }

  /** True while faults hold the request, or before they are asked. */
  get holds(): boolean {
    if (!actsOnRequest(this) || this.#request === 'sent') return false
    return this.#request === 'arrived' || this.#isWaiting || this.all.some(waits)
  }

  /** Resolves when the upstream has the request, or never gets it; undefined when it has it. */
  get whenSent(): Promise<void> | undefined {
    if (this.#request === 'sent') return undefined
    this.#whenSent ??= new Promise((resolve) => (this.#resolveSent = resolve))
    return this.#whenSent
  }

  /** Handles a cancelled call: it is not sent when faults still hold it. */
  abandon(call: Call): void {
    const own = this.holds ? this.#of(call) : undefined
    if (own === undefined) return
    own.isAbandoned = true
    own.stop.abort()
    if (this.calls.every(({ isAbandoned }) => isAbandoned)) this.disarm()
  }

  /** Delays the request until `until` resolves. */
  suspend(until: Promise<void>): void {
    this.#wasKept = this.#keeps
    this.#until = until
  }

  /** Returns true for a call that faults changed; valid also after the end. */
  hasChanged(call: Call): boolean {
    const own = this.#of(call)
    return hasChanged(this.exchange) || (own !== undefined && hasChanged(own))
  }

  /** Returns true when the upstream is known to have executed the call. */
  isExecuted(call: Call): boolean {
    const { upstreamResponse, response } = this.#of(call) ?? {}
    if (upstreamResponse !== undefined) return outcomeOf(call, upstreamResponse) === 'ok'
    const { status = 0 } = response ?? {}
    return status >= 200 && status < 300 && status !== 202
  }

  /** Returns the outcome of a call whose response was not read on its way to the client. */
  unreadOutcome(call: Call): Outcome {
    const own = this.#of(call)
    // A fault may have damaged the response.
    if (!own?.edits.length && this.originOf(call) === 'injected') return 'incomplete'
    return (own && receivedOutcome(own)) ?? 'ok'
  }

  /** Asks the faults about the request. Waits only for faults that wait. */
  async request(texts: CallTexts): Promise<RequestOutcome> {
    this.#request = 'asked'
    const { exchange, posted } = this
    const ask = (own: CallInjection, since: number | undefined) =>
      askFaults(own, (wanted, active) => admitVerdict(own, wanted, active, this, texts), since)
    for (let index = 0; index < posted.length; index++) {
      for (const edit of posted[index]!.edits) await texts.edit(index, edit)
    }
    let since = this.#receivedAt
    if (exchange.actsOnRequest) {
      const whole = await ask(exchange, since)
      if (whole.kind === 'reset') return { kind: 'cut', how: whole.how }
      if (whole.kind === 'respond' && whole.reply.kind === 'http') {
        return { kind: 'http', reply: whole.reply }
      }
      // The fault of the exchange may have taken time before the calls' faults.
      since = undefined
    }
    // In parallel: in a batch no call waits for the fault of another call.
    const verdicts = await Promise.all(
      posted.map((own, at) =>
        this.#responded.includes(at) ? Promise.resolve(undefined) : ask(own, since),
      ),
    )
    const repeated =
      posted.length === this.calls.length
        ? []
        : await pipeMessages(posted, this.calls.length, verdicts, texts, this.#responded)
    if (this.#until !== undefined) {
      this.#isWaiting = true
      await this.#until
      this.#isWaiting = false
    }
    return requestOutcome(posted, verdicts, this.#responded, this.#replies, repeated)
  }

  /** Plans the rules about the response's status. */
  responseBegins(head: ResponseHead): void {
    const plan = this.#planResponse?.(head.status)
    if (plan !== undefined) addPlan(this.exchange, plan)
    // A rule about the redirect itself acts on it; all others wait for the repeated request.
    else if (
      this.posted.length > 0 &&
      redirectTarget(this.options.exchange.head, head) !== undefined
    ) {
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
  repeated(plan: Plan | undefined, planResponse: PlanResponse | undefined, at: number): void {
    this.#redirect = undefined
    this.#request = 'arrived'
    this.#planResponse = planResponse
    this.#receivedAt = at
    if (plan !== undefined) addPlan(this.exchange, plan)
    // The first copies went to the old target.
    for (const own of this.posted) own.ordered = own.copies
  }

  unfollowed(): void {
    this.#redirect = undefined
    this.finish()
  }

  /** Reports the faults that act on messages as not applicable. */
  leaveResponse(reason: NotApplicableReason): void {
    for (const own of [this.exchange, ...this.calls]) leave(own, 'messages', reason)
  }

  /** Stops all faults because the sidecar drains; held messages continue unchanged. */
  disarm(): void {
    this.#stop.abort()
    for (const stop of this.#stops) stop.abort()
  }

  /** Records that the request is sent, and arms the faults of responses on other connections. */
  forwarded(): void {
    this.#request = 'sent'
    this.#resolveSent?.()
    this.#whenSent = undefined
    for (const own of this.calls) {
      const { transport } = own.call!
      if (!sharesStream(transport) || own.isElsewhere) continue
      own.isElsewhere = true
      leave(own, 'output', transport === 'stdio' ? 'no_http' : 'responded_elsewhere')
      if (hasEnded(own) || !own.readsResponse) continue
      const reason = this.#arm(own, false)
      if (reason !== undefined) leave(own, 'messages', reason)
    }
  }

  /** Ends the faults with the exchange, and calls that were not sent never are. Idempotent. */
  finish(): void {
    if (this.#isFinished || this.#redirect === 'held') return
    this.#isFinished = true
    for (const own of this.all) if (!this.#outlives(own)) this.#close(own)
    this.#resolveSent?.()
    this.#whenSent = RESOLVED
    this.disarm()
  }

  /** Ends the faults of a settled call, except for messages that they still send. */
  release(call: Call): void {
    const own = this.#of(call)
    if (own === undefined || own.end !== 'awaited') return
    own.end = 'released'
    if (own.lost !== undefined) {
      const { stop } = own
      this.#unarm(own, () => {
        this.#close(own)
        stop.abort()
      })
    } else if (this.#isFinished) this.#close(own)
  }

  /** Records a response that reaches the client after the exchange. */
  responded(call: Call): void {
    const own = this.#of(call)
    // While the exchange is open, its faults determine the response.
    if (own === undefined || !this.#isFinished || sharesStream(call.transport)) return
    if (!this.shared) restore(this.exchange)
    if (own.lost === undefined) restore(own)
  }

  #of(call: Call): CallInjection | undefined {
    return this.calls.find((each) => each.call === call)
  }

  /**
   * True while a fault holds the request, or held it when it was suspended: a call that ends
   * meanwhile counts as injected.
   */
  get #keeps(): boolean {
    if (this.#request === 'sent') return false
    return this.#wasKept || this.all.some((own) => originOf(own) === 'injected')
  }

  /** Returns true for a call whose response may come after the exchange. */
  #outlives(own: CallInjection): boolean {
    if (own.lost !== undefined) return true
    if (!own.isResumable || own.end !== 'awaited' || !own.readsResponse) return false
    return this.#arm(own, !own.isElsewhere) === undefined
  }

  /**
   * Lets the faults of a call await its response on a stream, from the beginning where the response
   * comes `again`; returns the reason when that is impossible.
   */
  #arm(own: CallInjection, again: boolean): NotApplicableReason | undefined {
    const { facts, parts } = this.options
    if (facts.session === undefined) return 'responded_elsewhere'
    const reason = parts.push.arm(facts.session, own)
    if (reason !== undefined) return reason
    const stop = new Stop()
    // Deferred, because the observer of the stream may settle the call first.
    const lost = () => queueMicrotask(() => own.lost === lost && this.#lost(own))
    own.lost = lost
    if (again) restart(own, stop)
    else own.stop = stop
    own.isElsewhere = true
    return undefined
  }

  #unarm(own: CallInjection, done: () => void): void {
    own.lost = undefined
    this.options.parts.push.release(this.options.facts.session!, own, done)
  }

  #lost(own: CallInjection): void {
    const { stop } = own
    this.#unarm(own, () => undefined)
    const reason = this.#arm(own, true)
    if (reason !== undefined) leave(own, 'messages', reason)
    stop.abort()
  }

  #close(own: CallInjection): void {
    if (own.end === 'counted') return
    closeInjection(own)
    if (this.all.every(({ end }) => end === 'counted')) this.memory.close()
  }
}

/** Returns true when the next message for the client carries a marker. */
export function hasMarkers({ all }: ExchangeFaults): boolean {
  return all.some(({ markers }) => markers.length > 0)
}

/** Takes the markers that must be sent with the next message for the client. */
export function takeAllMarkers(faults: ExchangeFaults): readonly string[] {
  if (faults.passesRedirect) return []
  let taken: readonly string[] = []
  for (const own of faults.all) if (own.markers.length > 0) taken = [...taken, ...takeMarkers(own)]
  return taken
}

/** Returns true when a fault acts on the messages of the response. */
export function readsAny({ exchange, calls }: ExchangeFaults): boolean {
  return actsOnResponse(exchange) || calls.some(actsOnResponse)
}

/** Returns true when a fault acts on the request. */
export function actsOnRequest({ all, posted, calls }: ExchangeFaults): boolean {
  return posted.length > calls.length || all.some((own) => own.actsOnRequest)
}

/** Returns true while a fault of the call sleeps. */
export function waits({ faults }: CallInjection): boolean {
  return faults.some((active) => active.waits)
}

/** Returns true when faults changed the request or the response. */
function hasChanged({ edits, isRestored, faults }: CallInjection): boolean {
  return edits.length > 0 || (!isRestored && faults.some(({ changed }) => changed))
}
