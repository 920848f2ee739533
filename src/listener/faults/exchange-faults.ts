import type { ResponseHead } from '../../http/headers.ts'
import { redirectTarget } from '../../http/redirect-target.ts'
import { type Call, sharesStream } from '../../mcp/call.ts'
import type { Plan } from '../../rules/select/plan.ts'
import { ExchangeMemory } from '../memory-budget.ts'
import {
  type CallInjection,
  type InjectedExchange,
  type PlannedCall,
  actsOnResponse,
  addPlan,
  closeInjection,
  leave,
  openInjection,
  ownOf,
  restart,
} from './call-injection.ts'
import { hasEnded, takeMarkers } from './call-state.ts'
import { Stop } from './chain/stop.ts'
import type { ExchangeContext, InjectionParts, NotApplicableReason } from './exchange-context.ts'
import { RequestPhase } from './request/request-phase.ts'
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
  planResponse?: PlanResponse | undefined
  /** Plans the messages of the server in the response; undefined when no rule may need them. */
  readonly messagePlanner?: MessagePlanner | undefined
}

/** The facts of an exchange, with the streams on which responses may come. */
interface StreamedContext extends ExchangeContext {
  readonly parts: InjectionParts & { readonly push: PushStreams }
}

/** Runs the faults of one exchange, from its request to its end. */
export class ExchangeFaults implements InjectedExchange {
  readonly options: StreamedContext
  readonly planned: PlannedExchange
  readonly exchange: CallInjection
  readonly calls: readonly CallInjection[]
  readonly posted: readonly CallInjection[]
  readonly all: readonly CallInjection[]
  readonly shared: boolean
  readonly request: RequestPhase
  readonly #memory: ExchangeMemory
  /** Stops the faults of the whole exchange. */
  readonly #stop = new Stop()
  /** One for each message when several share the exchange. */
  readonly #stops: readonly Stop[]

  constructor(options: StreamedContext, planned: PlannedExchange) {
    const { exchange, parts } = options
    const { calls, messages = [] } = planned
    const memory = (this.#memory = new ExchangeMemory(parts.memory, exchange.weight ?? 0, () => {
      for (const own of this.all) {
        leave(own, 'messages', 'memory')
        own.stop.abort()
      }
    }))
    this.options = options
    this.planned = planned
    const all = messages.length === 0 ? calls : [...calls, ...messages]
    const stops = (this.#stops = all.length > 1 ? all.map(() => new Stop()) : [])
    this.exchange = openInjection({ plan: planned.exchangePlan }, options, this.#stop, memory)
    this.posted = all.map((each, index) =>
      openInjection(each, options, stops[index] ?? this.#stop, memory),
    )
    this.calls = messages.length === 0 ? this.posted : this.posted.slice(0, calls.length)
    this.all = [this.exchange, ...this.posted]
    this.shared = calls.length > 1
    this.request = new RequestPhase(this)
  }

  disarm(): void {
    this.#stop.abort()
    for (const stop of this.#stops) stop.abort()
  }

  /** Records that the request is sent, and arms the faults of responses on other connections. */
  forwarded(): void {
    this.request.sent()
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

  finish(): void {
    if (this.request.isOver || this.request.redirect === 'held') return
    this.request.end()
    for (const own of this.all) if (!this.#outlives(own)) this.#close(own)
    this.disarm()
  }

  /** Ends the faults of a settled call, except for messages that they still send. */
  release(call: Call): void {
    const own = ownOf(this.calls, call)
    if (own === undefined || own.end !== 'awaited') return
    own.end = 'released'
    if (own.lost !== undefined) {
      const { stop } = own
      this.#unarm(own, () => {
        this.#close(own)
        stop.abort()
      })
    } else if (this.request.isOver) this.#close(own)
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
    for (const { end } of this.all) if (end !== 'counted') return
    this.#memory.end()
  }
}

/** Reports the faults that act on messages as not applicable. */
export function leaveResponse(faults: ExchangeFaults, reason: NotApplicableReason): void {
  for (const own of [faults.exchange, ...faults.calls]) leave(own, 'messages', reason)
}

/** Returns true when the next message for the client carries a marker. */
export function hasMarkers({ all }: ExchangeFaults): boolean {
  for (const { markers } of all) if (markers.length > 0) return true
  return false
}

/** Takes the markers that must be sent with the next message for the client. */
export function takeAllMarkers({ all, request }: ExchangeFaults): readonly string[] {
  if (request.redirect !== undefined) return []
  let taken: readonly string[] = []
  for (const own of all) if (own.markers.length > 0) taken = [...taken, ...takeMarkers(own)]
  return taken
}

/** Returns true when a fault acts on the messages of the response. */
export function readsAny({ exchange, calls }: ExchangeFaults): boolean {
  return actsOnResponse(exchange) || calls.some(actsOnResponse)
}

/** Plans the rules about the response's status. */
export function responseBegins(faults: ExchangeFaults, head: ResponseHead): void {
  const { planned, exchange, posted, request, options } = faults
  const plan = planned.planResponse?.(head.status)
  if (plan !== undefined) {
    const before = exchange.faults.length
    addPlan(exchange, plan)
    for (const active of exchange.faults.slice(before)) {
      if (!active.readsResponse && !active.transformsOutput) active.cannot('already_sent')
    }
  }
  // A rule about the redirect itself acts on it; all others wait for the repeated request.
  else if (posted.length > 0 && redirectTarget(options.exchange.head, head) !== undefined) {
    request.redirect = 'passes'
  }
}

/** Continues with the repeated request. */
export function repeated(
  { planned, exchange, posted, request }: ExchangeFaults,
  plan: Plan | undefined,
  planResponse: PlanResponse | undefined,
  at: number,
): void {
  request.repeat(at)
  planned.planResponse = planResponse
  if (plan !== undefined) addPlan(exchange, plan)
  // The first copies went to the old target.
  for (const own of posted) own.ordered = own.copies
}
