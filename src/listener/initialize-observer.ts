import type { PostedMessages } from '../mcp/classify.ts'
import type { ChunkRun } from '../http/chunk-run.ts'
import { headerValue, type HeaderLines, type ResponseHead } from '../http/headers.ts'
import type { Origin, Outcome } from '../mcp/call.ts'
import type { CallEntry } from './call-entry.ts'
import type { Explained } from './ended-call.ts'
import type { InFlightRequests } from './in-flight-requests.ts'
import type { Failure } from '../http/transfer.ts'
import type { Observer } from './observer.ts'

/** Stores the client of a new session, and forwards all events to another observer. */
export class InitializeObserver implements Observer {
  readonly #inFlight: InFlightRequests
  readonly #entry: CallEntry
  readonly #posted: PostedMessages
  readonly #session: string
  readonly #inner: Observer

  constructor(
    inFlight: InFlightRequests,
    entry: CallEntry,
    posted: PostedMessages,
    session: string,
    inner: Observer,
  ) {
    this.#inFlight = inFlight
    this.#entry = entry
    this.#posted = posted
    this.#session = session
    this.#inner = inner
  }

  get behind(): boolean {
    return this.#inner.behind
  }

  head(head: ResponseHead): void {
    const id = headerValue(head.headers, 'mcp-session-id') ?? this.#session
    if (head.status < 300 && id !== '') {
      const { client, protocolVersion } = this.#posted
      const { transport } = this.#entry.call
      this.#inFlight.sessionBegan(this.#entry, id, { client, protocolVersion, transport })
    }
    this.#inner.head(head)
  }

  data(chunk: Uint8Array): void {
    this.#inner.data(chunk)
  }

  chunks(run: ChunkRun): void {
    this.#inner.chunks(run)
  }

  end(trailers: HeaderLines): void {
    this.#inner.end(trailers)
  }

  fail(failure: Failure): void {
    this.#inner.fail(failure)
  }

  gone(): void {
    this.#inner.gone()
  }

  settle(outcome: Outcome, origin: Origin, error: Explained): void {
    this.#inner.settle(outcome, origin, error)
  }
}
