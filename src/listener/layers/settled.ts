import type { ByteBudget } from '../../base/byte-budget.ts'
import type { Call } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import { paramsWeight } from '../../mcp/deferred-arguments.ts'
import type { HttpRecord } from '../../telemetry/telemetry.ts'
import type { CallEntry } from '../call-entry.ts'
import { cancel } from '../cancellations.ts'
import { CallObserver } from '../call-observer.ts'
import { ExchangeObserver } from '../exchange-observer.ts'
import type { Relay } from '../relay.ts'
import type { SendBarrier } from '../send-barrier.ts'
import { type Classified, unclassified } from './classified.ts'
import type { Layer, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

/** A request whose calls are open. */
export interface Opened {
  readonly request: Classified
  /** The posted messages that count, or that rules may match. */
  readonly posted: PostedMessages | undefined
  readonly entries: readonly CallEntry[]
  /** Counts an exchange without calls. */
  readonly account: ExchangeObserver | undefined
  /** True for a body that may contain calls which nobody observes. */
  readonly isUnread: boolean
  /**
   * The memory of the calls' arguments, which the budget has counted; 0 when no rule can match. A
   * layer that rejects the request gives it back.
   */
  readonly weight: number
  /** The requests that this one must not overtake. */
  readonly barriers: readonly SendBarrier[] | undefined
}

const NO_ENTRIES: readonly CallEntry[] = []

/** Opens the calls of each request; the observer of the response settles each of them once. */
export function settled(p: StackParts): Layer<Service<Classified, Relay>, Service<Opened, Relay>> {
  return (inner) => ({
    send: (request, relay) => inner.send(open(p, request, relay), relay),
  })
}

function open(p: StackParts, request: Classified, relay: Relay): Opened {
  const { posted, repeats, exchange, session } = request
  if (posted === undefined) return counted(p, request, relay)
  if (repeats !== undefined) return continued(p, request, relay)
  const barriers = cancel(p.inFlight, posted, session, exchange)
  const mayMatch = p.planner?.mayMatch(exchange.head, posted) === true
  const weight = mayMatch ? messagesWeight(posted) : 0
  if (!p.memory.take(weight)) {
    unclassified(p, exchange.head, 'memory')
    return counted(p, request, relay, { class: 'http', isUnread: true, barriers })
  }
  if (posted.calls.length === 0) return counted(p, request, relay, { weight, barriers, posted })
  const entries: CallEntry[] = []
  for (const call of posted.calls) entries.push(p.inFlight.open(call, request))
  if (!posted.batch) entries[0]!.requestBytes = request.size
  const all = { request, posted, entries, account: undefined, isUnread: false, weight, barriers }
  relay.settlement.observe(new CallObserver(p, posted, entries, session), all)
  return all
}

/** Counts an exchange without calls. */
function counted(
  p: StackParts,
  request: Classified,
  relay: Relay,
  known: Partial<Omit<Opened, 'request' | 'entries' | 'account'>> & {
    readonly class?: HttpRecord['class']
  } = {},
): Opened {
  const { isUnread = request.isUnread, weight = 0, barriers, posted } = known
  const account = new ExchangeObserver(p, known.class ?? request.class)
  const all = { request, posted, entries: NO_ENTRIES, account, isUnread, weight, barriers }
  relay.settlement.observe(account, all)
  return all
}

/** Goes on with the calls of a request that was redirected. */
function continued(p: StackParts, request: Classified, relay: Relay): Opened {
  const { posted, repeats } = request
  const { entries, observer } = repeats!
  if (entries.length === 0) return counted(p, request, relay, { posted })
  const all = {
    request,
    posted,
    entries,
    account: undefined,
    isUnread: false,
    weight: 0,
    barriers: undefined,
  }
  relay.settlement.observe(observer, all)
  return all
}

/** Returns the memory that the parameters of messages take. */
function messagesWeight({ calls, others }: PostedMessages): number {
  let weight = 0
  for (const { params } of calls) weight += paramsWeight(params)
  for (const { params } of others) weight += paramsWeight(params)
  return weight
}

/** Drops the arguments, which only faults read: an open call may be kept for long. */
export function releaseParams(calls: readonly Call[], weight: number, memory: ByteBudget): void {
  for (const call of calls) call.params = undefined
  memory.give(weight)
}
