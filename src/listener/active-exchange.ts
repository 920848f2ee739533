import type { PostedMessages } from '../mcp/classify.ts'
import type { ResponseHead } from '../http/headers.ts'
import type { HttpRecord } from '../telemetry/telemetry.ts'
import type { Failure, Upstream } from '../http/transfer.ts'
import type { CallEntry } from './call-entry.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import type { Observer } from './observer.ts'
import type { RelayEnd } from './relay.ts'
import { faultedUpstream, pushUpstream } from './faults/source/faulted-upstream.ts'
import type { PushStream } from './faults/source/push-stream.ts'
import { BarrierUpstream, type SendBarrier } from './send-barrier.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { markSent } from './plan-calls.ts'

/** Receives the events of exchanges. */
export interface ActiveExchangeOwner {
  finished(active: ActiveExchange, status: number): void
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

  finished(status: number): void {
    this.#owner.finished(this, status)
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
}

interface UpstreamParts {
  readonly upstream: Upstream
  readonly memory: MemoryBudget
  readonly holdTimeout: number
  readonly now: () => number
}

/** Wraps the upstream with the barriers, faults and push stream of one exchange. */
export function upstreamFor(
  { faults, barriers, entries }: ActiveExchange,
  { upstream, memory, holdTimeout, now }: UpstreamParts,
  push: PushStream | undefined,
): Upstream {
  let to = upstream
  if (barriers !== undefined) {
    const sent = (): void => void markSent(entries, now)
    const timeout = memory.exceeded ? 0 : holdTimeout
    to = new BarrierUpstream(to, { barriers, timeout, sent })
  }
  if (faults !== undefined) to = faultedUpstream(to, faults)
  return push === undefined ? to : pushUpstream(to, push)
}
