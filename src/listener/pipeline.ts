import type { Call, RequestCall } from '../mcp/call.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import { type HeadFacts, factsOf } from '../mcp/request-facts.ts'
import { FAULT } from '../http/foreign-markers.ts'
import type { ResponseHead } from '../http/headers.ts'
import { FastRequestHead } from '../http/fast/fast-request-head.ts'
import { responseFactsOf } from '../http/response-facts.ts'
import type { Failure, Upstream } from '../http/transfer.ts'
import type { RejectionReason } from '../telemetry/telemetry.ts'
import { findAmbiguity } from '../http/ambiguity.ts'
import type { CallEntry } from './call-entry.ts'
import { CallObserver } from './call-observer.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { expiredResponse } from './faults/emit/injected-response.ts'
import type { FaultPlanner } from './faults/fault-planner.ts'
import type { PushStream, PushStreams } from './faults/source/push-streams.ts'
import { InitializeObserver } from './initialize-observer.ts'
import type { InFlightRequests } from './in-flight-requests.ts'
import type { Observer } from './observer.ts'
import { ActiveExchange, markSent, messagesWeight, planCalls } from './active-exchange.ts'
import type { ActiveExchangeOwner } from './active-exchange.ts'
import { PostedReader, type PostedReaderOptions, unreadListener } from './posted-reader.ts'
import { PushObserver } from './push-observer.ts'
import type { RareLog } from './rare-log.ts'
import { NOT_READ, UNREADABLE, rejectionOf, sendRejection } from './rejection.ts'
import { Relay } from './relay.ts'

/** Configures a pipeline. */
export interface PipelineOptions extends PostedReaderOptions {
  readonly upstream: Upstream
  readonly inFlight: InFlightRequests
  readonly suspect?: (failure?: Failure) => void
  readonly rareLog: RareLog
  readonly now: () => number
  /** The longest wait for requests that must not be overtaken, in milliseconds. */
  readonly holdTimeout: number
  readonly planner?: FaultPlanner | undefined
  /** The push streams, on which faults act on responses that arrive there. */
  readonly push?: PushStreams | undefined
}

/** Carries every exchange: classifies, sends, relays and records it. */
export class Pipeline implements ActiveExchangeOwner {
  readonly #parts: PipelineOptions
  readonly #reader: PostedReader
  readonly #unread: ExchangeListener

  constructor(parts: PipelineOptions) {
    this.#parts = parts
    this.#reader = new PostedReader(parts)
    this.#unread = unreadListener(parts.telemetry)
  }

  handle(exchange: Exchange): void {
    try {
      this.#route(exchange)
    } catch (error) {
      this.#internalError(exchange, error)
    }
  }

  reject(exchange: Exchange, status: number, reason: RejectionReason, message: string): void {
    const { response } = exchange
    // The end of an ambiguous request is ambiguous, too.
    if (reason === 'ambiguous_request') response.closeAfter()
    if (response.started) response.cut('rst')
    else sendRejection(response, { status, reason, message }, [], false)
    this.#parts.telemetry.rejected(reason)
    this.#parts.telemetry.http({ class: 'http', status, origin: 'squall' })
  }

  #route(exchange: Exchange): void {
    const { head } = exchange
    // Requests of the fast path are not ambiguous.
    const ambiguity = head instanceof FastRequestHead ? undefined : findAmbiguity(head)
    if (ambiguity !== undefined) {
      this.reject(exchange, ambiguity.status, 'ambiguous_request', ambiguity.message)
      return
    }
    const { inFlight, telemetry, maxBody, memory, now } = this.#parts
    const facts = factsOf(head)
    if (facts.ambiguity) this.#reader.unclassified(head, facts.ambiguity)
    switch (facts.kind) {
      case 'post':
        exchange.listener = this.#unread
        this.#reader.collect(exchange, facts, (bytes) => this.#tryPosted(exchange, facts, bytes))
        return
      case 'stream': {
        if (this.#rejectExpired(exchange, facts)) return
        const push = this.#parts.push?.open(this.#parts.planner?.messagesOf(head))
        const bounds = { limit: maxBody, memory }
        const observer = new PushObserver(inFlight, telemetry, head, bounds, push)
        this.#pass(this.#withoutCalls(exchange, 'mcp', now(), 0, observer, facts.hasBody), push)
        return
      }
      case 'session-end': {
        const session = facts.session ?? ''
        if (this.#rejectExpired(exchange, facts)) {
          inFlight.endSession(session, 'abandoned', 'injected')
          return
        }
        const active = this.#withoutCalls(exchange, 'mcp', now(), 0, null, facts.hasBody)
        active.sessionEnded = inFlight.sessionEnding(session)
        this.#pass(active)
        return
      }
      case 'http':
        this.#pass(this.#withoutCalls(exchange, 'http', now(), 0, null, facts.hasBody))
    }
  }

  /** Creates an exchange that only HTTP rules can match. An `unread` body may contain calls. */
  #withoutCalls(
    exchange: Exchange,
    kind: ActiveExchange['class'],
    receivedAt: number,
    requestBytes: number,
    observer: Observer | null = null,
    unread = false,
  ): ActiveExchange {
    const faults = this.#parts.planner?.forExchange(exchange.head, requestBytes, unread)
    return new ActiveExchange(this, exchange, kind, receivedAt, observer, faults)
  }

  #tryPosted(exchange: Exchange, facts: HeadFacts, bytes: Uint8Array | null): void {
    try {
      this.#posted(exchange, facts, bytes)
    } catch (error) {
      this.#internalError(exchange, error)
    }
  }

  #posted(exchange: Exchange, facts: HeadFacts, bytes: Uint8Array | null): void {
    const { inFlight, planner, now } = this.#parts
    const receivedAt = now()
    if (bytes === null) {
      this.#pass(this.#withoutCalls(exchange, 'http', receivedAt, 0, null, true))
      return
    }
    const repeats = inFlight.redirects.take(exchange, bytes)
    if (repeats !== undefined) {
      const { observer, entries, posted } = repeats
      const session = entries[0]?.session ?? posted.session ?? ''
      const request = { head: exchange.head, posted, session, size: bytes.length, receivedAt }
      const faults = planCalls(this.#parts, request, entries, repeats)
      this.#pass(
        new ActiveExchange(this, exchange, 'mcp', receivedAt, observer, faults, entries, posted),
      )
      return
    }
    const endpoint = inFlight.endpoints.lookup(exchange.head.target)
    const read = this.#reader.read(exchange.head, facts, bytes, endpoint !== undefined)
    if (read === undefined) {
      this.#pass(this.#withoutCalls(exchange, 'http', receivedAt, bytes.length, null, true))
      return
    }
    const session = endpoint ?? read.posted.session ?? ''
    const posted = inFlight.tasks.named(read.posted, session)
    if (this.#rejectExpired(exchange, facts, session, posted.calls, receivedAt)) return
    if (planner?.watchesCanaries) planner.reportCanaries(read.plain, session, posted, facts.trace)
    const barriers = inFlight.cancel(posted, session, exchange)
    const active = this.#open(exchange, facts, posted, session, bytes.length, receivedAt)
    active.barriers = barriers
    this.#pass(active)
  }

  /** Rejects a request of a session that a fault has ended; returns true when it did. */
  #rejectExpired(
    exchange: Exchange,
    { session: named = '', trace }: HeadFacts,
    session = named,
    calls: readonly RequestCall[] = [],
    at = 0,
  ): boolean {
    const { planner, inFlight, telemetry } = this.#parts
    const by = planner?.expiredBy(session)
    // A new `initialize` is accepted, even with the id of an ended session.
    if (planner === undefined || by === undefined || calls[0]?.method === 'initialize') return false
    const entries = calls.map((call) => inFlight.open(call, '', at, trace, exchange, session))
    const { head, bytes } = expiredResponse(exchange.head, calls, by)
    exchange.response.head(head)
    exchange.response.data(bytes)
    exchange.response.end([])
    inFlight.settleAll(entries, 'http_error', 'injected', { status: head.status, by: by.ref })
    if (!calls.length) telemetry.http({ class: 'mcp', status: head.status, origin: 'injected' })
    planner.reportExpired(by, session, calls, trace)
    return true
  }

  /** Opens the calls of a POST and records the facts of its session. */
  #open(
    exchange: Exchange,
    { trace }: HeadFacts,
    posted: PostedMessages,
    session: string,
    size: number,
    receivedAt: number,
  ): ActiveExchange {
    const { inFlight, telemetry, maxBody, memory, planner } = this.#parts
    const { calls, client } = posted
    const weight = planner?.mayMatch(exchange.head, posted) === true ? messagesWeight(posted) : 0
    if (!this.#reader.keeps(exchange.head, weight)) {
      return this.#withoutCalls(exchange, 'http', receivedAt, size, null, true)
    }
    if (calls.length + weight === 0) return this.#withoutCalls(exchange, 'mcp', receivedAt, size)
    const entries: CallEntry[] = []
    for (const call of calls)
      entries.push(inFlight.open(call, session, receivedAt, trace, exchange, session, client))
    const bounds = { limit: maxBody, memory }
    let observer: Observer = new CallObserver(inFlight, telemetry, entries, session, bounds)
    if (calls[0]?.method === 'initialize') {
      observer = new InitializeObserver(inFlight, entries[0]!, posted, session, observer)
    }
    const request = { head: exchange.head, posted, session, size, receivedAt, weight }
    const faults = planCalls(this.#parts, request, entries)
    if (posted.batch) inFlight.cancelOwn(posted, entries)
    else if (entries[0] !== undefined) entries[0].requestBytes = size
    return new ActiveExchange(this, exchange, 'mcp', receivedAt, observer, faults, entries, posted)
  }

  #pass(active: ActiveExchange, push?: PushStream): void {
    const { now } = this.#parts
    const { exchange, entries, faults, barriers } = active
    const relay = new Relay(exchange, active.observer, active, now)
    try {
      const to = active.upstreamOf(this.#parts, push)
      relay.attach(to.send(exchange.head, exchange.body.forSending(), relay))
    } catch (error) {
      this.#unsent(active, error)
      return
    }
    // A held request reports itself when it is sent.
    const isHeld = faults !== undefined || barriers !== undefined
    relay.requestSent((isHeld ? now() : markSent(entries, now)) - active.receivedAt)
  }

  finished(active: ActiveExchange, head: ResponseHead | undefined): void {
    const status = head?.status ?? 0
    if (status === 0 || status === 400) this.#parts.suspect?.()
    if (active.entries.length > 0) return
    let origin = active.faults?.origin ?? 'real'
    if (origin === 'real' && head !== undefined && status >= 400) {
      const mark = this.#parts.inFlight.markers.believed(responseFactsOf(head).mark)
      if (mark === FAULT) origin = 'injected_elsewhere'
    }
    active.sessionEnded?.(origin === 'real' ? status : 0)
    this.#parts.telemetry.http({ class: active.class, status, origin })
  }

  redirected(active: ActiveExchange, head: ResponseHead): boolean {
    return this.#parts.inFlight.redirects.hold(active, head, this.#parts.now())
  }

  /** Answers for an upstream that was unreachable, or gave no usable response. */
  upstreamFailed(active: ActiveExchange, failure: Failure): void {
    const { reason, status, message } = rejectionOf(failure)
    this.#parts.suspect?.(failure)
    this.#responseFor(active, status, reason, message)
    this.#parts.rareLog.warn(reason, failure.message, 'responded for the upstream')
  }

  spent(time: number): void {
    this.#parts.telemetry.overhead(time / 1000)
  }

  dropped(active: ActiveExchange): void {
    this.#parts.inFlight.settleAll(active.entries, 'incomplete', 'squall', NOT_READ)
  }

  /** Settles the calls of an exchange whose observer failed; the response continues. */
  observerFailed(active: ActiveExchange, error: unknown): void {
    const { telemetry, inFlight, logger } = this.#parts
    logger.error({ err: error }, 'a response could not be read; it is passed on untouched')
    telemetry.unclassified('internal_error')
    inFlight.settleAll(active.entries, 'incomplete', 'squall', UNREADABLE)
  }

  /** Settles the calls of an exchange that Squall could not send. */
  #unsent(active: ActiveExchange, err: unknown): void {
    this.#parts.logger.error({ err }, 'an exchange failed inside Squall')
    this.#responseFor(active, 500, 'internal_error', 'internal error')
  }

  #responseFor(
    active: ActiveExchange,
    status: number,
    reason: RejectionReason,
    message: string,
  ): void {
    const { telemetry, inFlight } = this.#parts
    const { response } = active.exchange
    const calls: Call[] = active.entries.map(({ call }) => call)
    if (response.started) response.cut('rst')
    else sendRejection(response, { status, reason, message }, calls, active.posted?.batch ?? false)
    telemetry.rejected(reason)
    inFlight.settleAll(active.entries, 'http_error', 'squall', { status, message })
    if (calls.length === 0) telemetry.http({ class: active.class, status, origin: 'squall' })
    active.sessionEnded?.(0)
  }

  #internalError(exchange: Exchange, error: unknown): void {
    this.#parts.logger.error({ err: error }, 'an exchange failed inside Squall')
    this.reject(exchange, 500, 'internal_error', 'internal error')
  }
}
