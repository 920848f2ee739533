import type { Call } from '../mcp/call.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import { factsOf, type HeadFacts } from '../mcp/request-facts.ts'
import type { ResponseHead } from '../http/headers.ts'
import { FastRequestHead } from '../http/fast/fast-request-head.ts'
import type { Failure, Upstream } from '../http/transfer.ts'
import type { RejectionReason } from '../telemetry/telemetry.ts'
import { findAmbiguity } from '../http/ambiguity.ts'
import { appFailure } from './upstream-failure.ts'
import type { CallEntry } from './call-entry.ts'
import { CallObserver } from './call-observer.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { expiredResponse } from './faults/emit/expired-response.ts'
import type { FaultPlanner } from './faults/fault-planner.ts'
import type { PushStream } from './faults/source/push-stream.ts'
import type { PushStreams } from './faults/source/push-streams.ts'
import { InitializeObserver } from './initialize-observer.ts'
import type { InFlightRequests } from './in-flight-requests.ts'
import type { Observer } from './observer.ts'
import { ExchangeRun, type ExchangeRunOwner } from './exchange-run.ts'
import { markSent, planCalls } from './plan-calls.ts'
import { unreadListener } from './front/unread-listener.ts'
import { PostedReader, type PostedReaderParts } from './posted-reader.ts'
import { weightOf } from './call-weight.ts'
import { PushObserver } from './push-observer.ts'
import type { RareLog } from './rare-log.ts'
import { refuse } from './rejection.ts'
import { Relay } from './relay.ts'
import { upstreamFor } from './exchange-upstream.ts'

/** What the pipeline works with. */
export interface PipelineParts extends PostedReaderParts {
  readonly upstream: Upstream
  readonly inFlight: InFlightRequests
  readonly suspect?: (failure?: Failure) => void
  readonly rareLog: RareLog
  readonly now: () => number
  /** A request waits so long at most for others that it must not overtake, in milliseconds. */
  readonly holdTimeout: number
  readonly planner?: FaultPlanner | undefined
  /** The streams by which the faults of calls act that are answered there. */
  readonly push?: PushStreams | undefined
}

/** The way of every exchange: classify, send, relay, record. */
export class Pipeline implements ExchangeRunOwner {
  readonly #parts: PipelineParts
  readonly #reader: PostedReader
  readonly #unread: ExchangeListener

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#reader = new PostedReader(parts)
    this.#unread = unreadListener(parts.telemetry)
  }

  handle(exchange: Exchange): void {
    try {
      this.#route(exchange)
    } catch (error) {
      this.#broke(exchange, error)
    }
  }

  refuse(exchange: Exchange, status: number, reason: RejectionReason, message: string): void {
    const { response } = exchange
    // Where a request cannot be trusted, its end cannot be either.
    if (reason === 'ambiguous_request') response.closeAfter()
    if (response.started) response.cut('rst')
    else refuse(response, { status, reason, message }, [], false)
    this.#parts.telemetry.refused(reason)
    this.#parts.telemetry.http({ class: 'http', status, origin: 'squall' })
  }

  #route(exchange: Exchange): void {
    const { head } = exchange
    // What is plain can be read in one way only.
    const ambiguity = head instanceof FastRequestHead ? undefined : findAmbiguity(head)
    if (ambiguity !== undefined) {
      this.refuse(exchange, ambiguity.status, 'ambiguous_request', ambiguity.message)
      return
    }
    const { inFlight, telemetry, maxBody, memory, now } = this.#parts
    const facts = factsOf(head)
    if (facts.ambiguity !== undefined) this.#reader.unclassified(head, facts.ambiguity)
    switch (facts.kind) {
      case 'post':
        exchange.listener = this.#unread
        this.#reader.collect(exchange, facts, (bytes) => this.#tryPosted(exchange, facts, bytes))
        return
      case 'stream': {
        if (this.#turnsAway(exchange, facts)) return
        const push = this.#parts.push?.open()
        const observer = new PushObserver(
          inFlight,
          telemetry,
          head,
          { limit: maxBody, memory },
          push,
        )
        this.#pass(this.#uncalled(exchange, 'mcp', now(), 0, observer, facts.hasBody), push)
        return
      }
      case 'session-end': {
        const session = facts.session ?? ''
        if (this.#turnsAway(exchange, facts)) {
          inFlight.endSession(session, 'abandoned', 'injected')
          return
        }
        const way = this.#uncalled(exchange, 'mcp', now(), 0, null, facts.hasBody)
        way.over = inFlight.sessionEnding(session)
        this.#pass(way)
        return
      }
      case 'http':
        this.#pass(this.#uncalled(exchange, 'http', now(), 0, null, facts.hasBody))
    }
  }

  /** An exchange without a call: only rules about HTTP can hit it. A body that is `unread` may hold any. */
  #uncalled(
    exchange: Exchange,
    kind: ExchangeRun['class'],
    receivedAt: number,
    requestBytes: number,
    observer: Observer | null = null,
    unread = false,
  ): ExchangeRun {
    const faults = this.#parts.planner?.forExchange(exchange.head, requestBytes, unread)
    return new ExchangeRun(this, exchange, kind, receivedAt, observer, undefined, undefined, faults)
  }

  #tryPosted(exchange: Exchange, facts: HeadFacts, bytes: Uint8Array | null): void {
    try {
      this.#posted(exchange, facts, bytes)
    } catch (error) {
      this.#broke(exchange, error)
    }
  }

  #posted(exchange: Exchange, facts: HeadFacts, bytes: Uint8Array | null): void {
    const receivedAt = this.#parts.now()
    if (bytes === null) {
      this.#pass(this.#uncalled(exchange, 'http', receivedAt, 0, null, true))
      return
    }
    const repeats = this.#parts.inFlight.redirects.take(exchange, bytes)
    if (repeats !== undefined) {
      const { observer, entries, posted } = repeats
      const { session } = entries[0]!
      const request = { head: exchange.head, posted, session, size: bytes.length, receivedAt }
      const faults = planCalls(this.#parts, request, entries, repeats)
      this.#pass(
        new ExchangeRun(this, exchange, 'mcp', receivedAt, observer, entries, posted, faults),
      )
      return
    }
    const endpoint = this.#parts.inFlight.endpoints.lookup(exchange.head.target)
    const posted = this.#reader.read(exchange.head, facts, bytes, endpoint !== undefined)
    if (posted === undefined) {
      this.#pass(this.#uncalled(exchange, 'http', receivedAt, bytes.length, null, true))
      return
    }
    const session = endpoint ?? posted.session ?? ''
    if (this.#turnsAway(exchange, facts, session, posted.calls, receivedAt)) return
    const behind = this.#parts.inFlight.cancel(posted, session, exchange)
    const way = this.#open(exchange, facts, posted, session, bytes.length, receivedAt)
    way.behind = behind
    this.#pass(way)
  }

  /** Answers for a session that a fault has ended; true when it has. */
  #turnsAway(
    exchange: Exchange,
    { session: named = '', trace }: HeadFacts,
    session = named,
    calls: readonly Call[] = [],
    receivedAt = 0,
  ): boolean {
    const { planner, inFlight, telemetry } = this.#parts
    const by = planner?.turnsAway(session)
    // A client that begins anew is let in, whatever session it still names.
    if (planner === undefined || by === undefined || calls[0]?.method === 'initialize') return false
    const entries = calls.map((call) => inFlight.open(call, '', receivedAt, trace))
    const { head, bytes } = expiredResponse(exchange.head, calls, by)
    exchange.response.head(head)
    exchange.response.data(bytes)
    exchange.response.end([])
    for (const entry of entries) inFlight.settle(entry, 'http_error', 'injected')
    const { status } = head
    if (calls.length === 0) telemetry.http({ class: 'mcp', status, origin: 'injected' })
    planner.turnedAway(by, session, calls, trace)
    return true
  }

  /** Opens the calls of a POST and takes note of what it tells about sessions. */
  #open(
    exchange: Exchange,
    { trace }: HeadFacts,
    posted: PostedMessages,
    session: string,
    size: number,
    receivedAt: number,
  ): ExchangeRun {
    const { inFlight, telemetry, maxBody, memory, planner } = this.#parts
    const { calls } = posted
    const weight = planner?.mayHit(exchange.head, calls) === true ? weightOf(calls) : 0
    if (!this.#reader.keeps(exchange.head, weight)) {
      return this.#uncalled(exchange, 'http', receivedAt, size, null, true)
    }
    if (calls.length === 0) return this.#uncalled(exchange, 'mcp', receivedAt, size)
    const entries: CallEntry[] = []
    for (const call of calls)
      entries.push(inFlight.open(call, session, receivedAt, trace, exchange))
    const bounds = { limit: maxBody, memory }
    let observer: Observer = new CallObserver(inFlight, telemetry, entries, session, bounds)
    if (calls[0]!.method === 'initialize') {
      observer = new InitializeObserver(inFlight.sessions, posted, session, observer)
    }
    const request = { head: exchange.head, posted, session, size, receivedAt, weight }
    const faults = planCalls(this.#parts, request, entries)
    if (posted.batch) inFlight.cancelOwn(posted, entries)
    return new ExchangeRun(this, exchange, 'mcp', receivedAt, observer, entries, posted, faults)
  }

  #pass(way: ExchangeRun, push?: PushStream): void {
    const { now } = this.#parts
    const { exchange, entries, faults, behind } = way
    const relay = new Relay(exchange, way.observer, way, now)
    try {
      const to = upstreamFor(way, this.#parts, push)
      relay.attach(to.send(exchange.head, exchange.body.forSending(), relay))
    } catch (error) {
      this.#unsent(way, error)
      return
    }
    // Where the request is held back, it tells itself when it goes.
    const isHeld = faults !== undefined || behind !== undefined
    relay.handedOver((isHeld ? now() : markSent(entries, now)) - way.receivedAt)
  }

  finished(way: ExchangeRun, status: number): void {
    if (status === 0 || status === 400) this.#parts.suspect?.()
    if (way.entries.length > 0) return
    const origin = way.faults?.exchange.origin ?? 'upstream'
    way.over?.(origin === 'upstream' ? status : 0)
    this.#parts.telemetry.http({ class: way.class, status, origin })
  }

  redirected(way: ExchangeRun, head: ResponseHead): boolean {
    return this.#parts.inFlight.redirects.hold(way, head, this.#parts.now())
  }

  /** The app could not be asked, or what it said was no response: Squall answers. */
  unanswered(way: ExchangeRun, failure: Failure): void {
    const { reason, status, message } = appFailure(failure)
    this.#parts.suspect?.(failure)
    this.#responseFor(way, status, reason, message)
    this.#parts.rareLog.warn(reason, failure.message, 'answered for the app')
  }

  spent(time: number): void {
    this.#parts.telemetry.overhead(time / 1000)
  }

  dropped(way: ExchangeRun): void {
    for (const entry of way.entries) this.#parts.inFlight.settle(entry, 'incomplete', 'squall')
  }

  /** Watching failed: the response goes on, its calls are closed as far as they can be known. */
  blind(way: ExchangeRun, error: unknown): void {
    const { telemetry, inFlight, logger } = this.#parts
    logger.error({ err: error }, 'a response could not be read; it is passed on untouched')
    telemetry.unclassified('internal_error')
    for (const entry of way.entries) inFlight.settle(entry, 'incomplete', 'squall')
  }

  /** Sending failed inside Squall, so that nobody else will ever close these calls. */
  #unsent(way: ExchangeRun, error: unknown): void {
    this.#parts.logger.error({ err: error }, 'an exchange failed inside Squall')
    this.#responseFor(way, 500, 'internal_error', 'an error of its own')
  }

  #responseFor(way: ExchangeRun, status: number, reason: RejectionReason, message: string): void {
    const { telemetry, inFlight } = this.#parts
    const { response } = way.exchange
    const calls: Call[] = way.entries.map(({ call }) => call)
    if (response.started) response.cut('rst')
    else refuse(response, { status, reason, message }, calls, way.posted?.batch ?? false)
    telemetry.refused(reason)
    for (const entry of way.entries) inFlight.settle(entry, 'http_error', 'squall')
    if (calls.length === 0) telemetry.http({ class: way.class, status, origin: 'squall' })
    way.over?.(0)
  }

  #broke(exchange: Exchange, error: unknown): void {
    this.#parts.logger.error({ err: error }, 'an exchange failed inside Squall')
    this.refuse(exchange, 500, 'internal_error', 'an error of its own')
  }
}
