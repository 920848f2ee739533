import type { PostedMessages } from '../mcp/classify.ts'
import type { ResponseHead } from '../http/headers.ts'
import type { HttpRecord } from '../telemetry/telemetry.ts'
import type { Failure } from '../http/transfer.ts'
import type { CallEntry } from './call-entry.ts'
import type { Exchange } from './exchange.ts'
import type { FaultRun } from './faults/fault-run.ts'
import type { Departure } from './late-upstream.ts'
import type { Observer } from './observer.ts'
import type { RelayEnd } from './relay.ts'

/** Who takes care of what can become of a passage. */
export interface ExchangeRunOwner {
  finished(way: ExchangeRun, status: number): void
  redirected(way: ExchangeRun, head: ResponseHead): boolean
  unanswered(way: ExchangeRun, failure: Failure): void
  blind(way: ExchangeRun, error: unknown): void
  dropped(way: ExchangeRun): void
  spent(time: number): void
}

const NO_ENTRIES: readonly CallEntry[] = []

/** One exchange on its way through the pipeline. */
export class ExchangeRun implements RelayEnd {
  readonly exchange: Exchange
  readonly class: HttpRecord['class']
  readonly receivedAt: number
  readonly observer: Observer | null
  readonly entries: readonly CallEntry[]
  /** The posted messages; undefined where there are no calls among them. */
  readonly posted: PostedMessages | undefined
  readonly faults: FaultRun | undefined
  /** Told once how it ended: the status that the upstream gave, or 0. */
  over: ((status: number) => void) | undefined
  /** The requests that it must not overtake. */
  behind: readonly Departure[] | undefined
  readonly #owner: ExchangeRunOwner

  constructor(
    owner: ExchangeRunOwner,
    exchange: Exchange,
    kind: HttpRecord['class'],
    receivedAt: number,
    observer: Observer | null,
    entries: readonly CallEntry[] = NO_ENTRIES,
    posted?: PostedMessages,
    faults?: FaultRun,
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

  unanswered(failure: Failure): void {
    this.#owner.unanswered(this, failure)
  }

  blind(error: unknown): void {
    this.#owner.blind(this, error)
  }

  dropped(): void {
    this.#owner.dropped(this)
  }

  spent(time: number): void {
    this.#owner.spent(time)
  }
}
