import type { PostedMessages } from '../mcp/classify.ts'
import type { RequestHead, ResponseHead } from '../http/headers.ts'
import type { HttpRecord } from '../telemetry/telemetry.ts'
import type { Failure, Upstream } from '../http/transfer.ts'
import type { CallEntry } from './call-entry.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import type { Observer } from './observer.ts'
import type { RelayEnd } from './relay.ts'
import { sendAlone } from './faults/request/copies.ts'
import { postOf } from './faults/request/call-texts.ts'
import { faultedUpstream } from './faults/source/faulted-upstream.ts'
import type { PushStream } from './faults/source/push-streams.ts'
import { BarrierUpstream, type SendBarrier } from './send-barrier.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Call } from '../mcp/call.ts'
import { paramsWeight } from '../mcp/deferred-arguments.ts'
import type { Room } from '../base/room.ts'
import { disturbancesOf } from './disturbance.ts'
import type { FaultPlanner } from './faults/fault-planner.ts'
import type { RedirectedPost } from './redirected-calls.ts'

/** Receives the events of exchanges. */
export interface ActiveExchangeOwner {
  finished(active: ActiveExchange, head: ResponseHead | undefined): void
  redirected(active: ActiveExchange, head: ResponseHead): boolean
  upstreamFailed(active: ActiveExchange, failure: Failure): void
  observerFailed(active: ActiveExchange, error: unknown): void
  dropped(active: ActiveExchange): void
  spent(time: number): void
}

const NO_ENTRIES: readonly CallEntry[] = []

/** Holds the state of one exchange in the pipeline. */
export class ActiveExchange implements RelayEnd {
  readonly exchange: Exchange
  readonly class: HttpRecord['class']
  readonly receivedAt: number
  readonly observer: Observer | null
  readonly entries: readonly CallEntry[]
  /** The posted messages; undefined without calls. */
  readonly posted: PostedMessages | undefined
  readonly faults: ExchangeFaults | undefined
  /** Called once at the end of a session's DELETE with the upstream's status, or 0. */
  sessionEnded: ((status: number) => void) | undefined
  /** The requests that the exchange must not overtake. */
  barriers: readonly SendBarrier[] | undefined
  readonly #owner: ActiveExchangeOwner

  constructor(
    owner: ActiveExchangeOwner,
    exchange: Exchange,
    kind: HttpRecord['class'],
    receivedAt: number,
    observer: Observer | null,
    faults: ExchangeFaults | undefined,
    entries: readonly CallEntry[] = NO_ENTRIES,
    posted?: PostedMessages,
  ) {
    this.#owner = owner
    this.exchange = exchange
    this.class = kind
    this.receivedAt = receivedAt
    this.observer = observer
    this.entries = entries
    this.posted = posted
    this.faults = faults
  }

  finished(head: ResponseHead | undefined): void {
    this.#owner.finished(this, head)
  }

  redirected(head: ResponseHead): boolean {
    return this.#owner.redirected(this, head)
  }

  upstreamFailed(failure: Failure): void {
    this.#owner.upstreamFailed(this, failure)
  }

  observerFailed(error: unknown): void {
    this.#owner.observerFailed(this, error)
  }

  dropped(): void {
    this.#owner.dropped(this)
  }

  spent(time: number): void {
    this.#owner.spent(time)
  }

  /** Wraps the upstream with the barriers, faults and push stream of the exchange. */
  upstreamOf(
    { upstream, memory, holdTimeout, now }: UpstreamParts,
    push: PushStream | undefined,
  ): Upstream {
    const { faults, barriers, entries } = this
    let to = upstream
    if (barriers !== undefined) {
      const sent = (): void => void markSent(entries, now)
      const timeout = memory.exceeded ? 0 : holdTimeout
      to = new BarrierUpstream(to, { barriers, timeout, sent })
    }
    if (faults !== undefined) to = faultedUpstream(to, faults)
    return push === undefined ? to : pushUpstream(to, push)
  }
}

interface UpstreamParts {
  readonly upstream: Upstream
  readonly memory: MemoryBudget
  readonly holdTimeout: number
  readonly now: () => number
}

/** Wraps the upstream of a GET stream, so that its events pass a `PushStream`. */
function pushUpstream(upstream: Upstream, stream: PushStream): Upstream {
  return {
    send(head, body, sink) {
      stream.setSink(sink)
      stream.setPost((text, target) =>
        sendAlone(postOf(head, text, target), { upstream, closing: undefined }),
      )
      stream.attach(upstream.send(head, body, stream))
      return stream
    },
  }
}

/** A POST with calls. */
export interface CallRequest {
  readonly head: RequestHead
  readonly posted: PostedMessages
  /** The key of the session in the table of in-flight requests; empty without a session. */
  readonly session: string
  /** The size of the body in bytes. */
  readonly size: number
  /** The memory of the calls' arguments; 0 when no rule can match. */
  readonly weight?: number
  /** In milliseconds. */
  readonly receivedAt: number
}

interface Parts {
  readonly planner?: FaultPlanner | undefined
  readonly memory: MemoryBudget
  readonly now: () => number
}

/** Plans the faults of a POST's calls; calls of a repeated request keep their plan. */
export function planCalls(
  { planner, now, memory }: Parts,
  { head, posted, session, size, receivedAt, weight = 0 }: CallRequest,
  entries: readonly CallEntry[],
  repeats?: RedirectedPost,
): ExchangeFaults | undefined {
  const mayMatch = repeats !== undefined || weight > 0
  const faults = !mayMatch
    ? undefined
    : planner?.forCalls({
        weight,
        head,
        posted,
        session,
        requestBytes: size,
        receivedAt,
        repeats,
        onSent: () => markSent(entries, now),
        disturbancesOf: (call) => disturbancesOf(openOf(entries, call)),
        onResponded: (call) => markResponded(entries, call, now()),
      })
  if (faults === undefined) releaseParams(posted.calls, weight, memory)
  for (const entry of entries) entry.faults = faults
  return faults
}

/** Returns one call, or all, unless they have ended. */
function openOf(entries: readonly CallEntry[], call: Call | undefined): readonly CallEntry[] {
  return entries.filter((each) => !each.settled && (call === undefined || each.call === call))
}

/** Records that calls are sent to the upstream now. */
export function markSent(entries: readonly CallEntry[], now: () => number): number {
  const sentAt = now()
  for (const entry of entries) entry.sentAt = sentAt
  return sentAt
}

/** Records the upstream's response to one call or to all; faults may still hold the response. */
function markResponded(entries: readonly CallEntry[], call: Call | undefined, at: number): void {
  for (const entry of entries) {
    if (call === undefined || entry.call === call) entry.respondedAt = at
  }
}

/** Returns the memory that the parameters of messages take. */
export function messagesWeight({ calls, others }: PostedMessages): number {
  let weight = 0
  for (const { params } of calls) weight += paramsWeight(params)
  for (const { params } of others) weight += paramsWeight(params)
  return weight
}

/** Drops the arguments, which only faults read: an open call may be kept for long. */
function releaseParams(calls: readonly Call[], weight: number, memory: Room): void {
  for (const call of calls) call.params = undefined
  memory.give(weight)
}
