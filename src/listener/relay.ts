import { type ChunkRun, MAX_CHUNKS } from '../http/chunk-run.ts'
import type { HeaderLines, ResponseHead } from '../http/headers.ts'
import type { Failure, ResponseSink, Transfer } from '../http/transfer.ts'
import { declaredLength } from '../http/response-facts.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { crowd, nextLoop, spendShare } from '../base/event-loop.ts'
import { NO_TRANSFER } from './layers/service.ts'
import type { StackParts } from './layers/stack-parts.ts'
import type { Observer } from './observer.ts'
import { Settlement } from './settlement.ts'
import { NOT_READ, type Rejection, rejectionOf, UNREADABLE } from './rejection.ts'

/** The time of a piece up to this size, together with its head, is not measured. */
const SMALL = 16 * 1024

/** Passes one response from the upstream to the client and to an observer. */
export class Relay implements ResponseSink, ExchangeListener {
  readonly settlement: Settlement
  readonly #exchange: Exchange
  readonly #parts: StackParts
  #transfer: Transfer | undefined
  #status = 0
  /** The declared bytes that were not sent yet; NaN without a declared length. */
  #owed = NaN
  #requestSent = false
  #spent = 0
  /** The start of the running clock; negative while it is stopped. */
  #since = -1
  /** True while other calls are served, or other responses are read. */
  #isResting = false
  /** The place among the responses that wait for each other; 0 before the first wait. */
  #place = 0
  /** False while the client accepts no more data. */
  #isWanted = true

  constructor(exchange: Exchange, observer: Observer | undefined, parts: StackParts) {
    this.settlement = new Settlement(exchange, observer, parts)
    this.#exchange = exchange
    this.#parts = parts
    exchange.listener = this
  }

  /**
   * Sets the transfer, which the relay aborts when the client leaves. The time since the request
   * was received counts as spent.
   */
  attach(transfer: Transfer, receivedAt?: number): void {
    if (transfer === NO_TRANSFER) return
    if (receivedAt !== undefined) {
      this.#spent += this.#parts.now() - receivedAt
      this.#requestSent = true
    }
    if (!this.settlement.ended) {
      this.#transfer = transfer
      return
    }
    transfer.abort()
    // An unreachable upstream has failed before this.
    if (this.#requestSent) this.#parts.telemetry.overhead(this.#spent / 1000)
  }

  info(head: ResponseHead): void {
    this.#exchange.response.info(head)
  }

  head(head: ResponseHead, whole?: boolean): void {
    if (this.settlement.ended) return
    this.#begin()
    try {
      this.#exchange.response.head(head, whole)
    } catch (error) {
      this.#transfer?.abort()
      this.fail({ kind: 'protocol', message: `invalid header block: ${(error as Error).message}` })
      return
    }
    this.#status = head.status
    this.#owed = declaredLength(head)
    if (this.#redirected(head)) this.settlement.observer = undefined
    try {
      this.settlement.observer?.head(head)
    } catch (error) {
      this.#observerFailed(error)
    }
  }

  data(chunk: Uint8Array): boolean {
    if (this.settlement.ended) return true
    const started = this.#begin()
    this.#owed -= chunk.length
    const more = this.#exchange.response.data(chunk)
    try {
      this.settlement.observer?.data?.(chunk)
    } catch (error) {
      this.#observerFailed(error)
    }
    return this.#written(more, started || chunk.length > SMALL)
  }

  chunks(run: ChunkRun): boolean {
    if (this.settlement.ended) return true
    const started = this.#begin()
    const more = this.#exchange.response.chunks(run)
    try {
      this.settlement.observer?.chunks?.(run)
    } catch (error) {
      this.#observerFailed(error)
    }
    return this.#written(more, started || run.count === MAX_CHUNKS)
  }

  end(trailers: HeaderLines): void {
    if (this.settlement.ended) return
    this.settlement.ended = true
    this.#begin()
    this.#exchange.response.end(trailers)
    try {
      this.settlement.observer?.end(trailers)
    } catch (error) {
      this.#observerFailed(error)
    }
    this.#finished()
  }

  fail(failure: Failure): void {
    if (this.settlement.ended) return
    this.settlement.ended = true
    this.#begin()
    const { response } = this.#exchange
    if (failure.kind === 'internal') {
      this.settlement.failInside(failure.error)
      this.#account()
      return
    }
    if (!response.started && failure.kind !== 'reset' && failure.kind !== 'closed') {
      const { suspect, rareLog } = this.#parts
      suspect?.(failure)
      const rejection = rejectionOf(failure)
      this.settlement.reject(rejection)
      rareLog.warn(rejection.reason, failure.message, 'responded instead of the upstream')
      this.#account()
      return
    }
    if (failure.hint !== undefined) {
      this.#parts.rareLog.warn('upstream_closed', failure.hint, 'the upstream ended the connection')
    }
    response.cut(failure.kind === 'closed' ? 'fin' : 'rst')
    this.#observe((observer) => observer.fail(failure))
    this.#finished()
  }

  drained(): void {
    this.#isWanted = true
    if (!this.#isResting) this.#transfer?.resume()
  }

  gone(rejection?: Rejection): void {
    if (this.settlement.ended) return
    this.settlement.ended = true
    this.#begin()
    // A client may close behind the last byte before the end is known here: a fault may still run.
    const isWhole = this.#owed === 0
    if (isWhole) this.#observe((observer) => observer.end([]))
    this.#transfer?.abort()
    if (rejection !== undefined) this.settlement.reject(rejection)
    else if (!isWhole) this.#observe((observer) => observer.gone())
    this.#finished()
  }

  dropped(): void {
    if (!this.settlement.ended) this.settlement.observer?.settle('incomplete', 'squall', NOT_READ)
  }

  /**
   * Stops the clock, because waiting begins. Most responses are complete in the tick of their head,
   * and one reading of the clock costs a third of a reading for each part.
   */
  tickEnded(): void {
    if (this.#since >= 0) this.#stop()
  }

  /** Returns false to ask for a pause: of the client's, or because others must have their turn. */
  #written(more: boolean, isTimed: boolean): boolean {
    if (!more) this.#exchange.stall()
    if (this.settlement.observer?.behind === true) return this.#waitInCrowd(more)
    return isTimed ? this.#paced(more) : more
  }

  /** Stops the clock, and asks for a pause when other calls must be served. */
  #paced(more: boolean): boolean {
    if (!spendShare(this.#stop())) return more
    return this.#rest(more, (resume) => void nextLoop().then(resume))
  }

  /** Stops the clock, and asks for a pause until other responses are read. */
  #waitInCrowd(more: boolean): boolean {
    this.tickEnded()
    return this.#rest(more, (resume) => crowd.wait((this.#place ||= crowd.enter()), resume))
  }

  /** Asks for a pause, until `wait` calls what it gets. */
  #rest(more: boolean, wait: (resume: () => void) => void): boolean {
    // The client may drain within this tick, which must not resume the upstream.
    this.#isWanted = more
    if (!this.#isResting) {
      this.#isResting = true
      wait(() => this.#rested())
    }
    return false
  }

  #rested(): void {
    this.#isResting = false
    if (this.#isWanted && !this.settlement.ended) this.#transfer?.resume()
  }

  /** Stops the clock and returns its time. */
  #stop(): number {
    const time = this.#parts.now() - this.#since
    this.#spent += time
    this.#since = -1
    return time
  }

  /** Starts the clock; returns false when it is running. */
  #begin(): boolean {
    if (this.#since >= 0) return false
    this.#since = this.#parts.now()
    return true
  }

  /** Returns true when the response redirects the calls to another exchange. */
  #redirected(head: ResponseHead): boolean {
    const { observer, opened } = this.settlement
    if (head.status < 300 || observer === undefined || opened?.posted === undefined) return false
    const { inFlight, now } = this.#parts
    const isHeld = inFlight.redirects.hold(this.#exchange, opened, observer, head, now())
    return isHeld && opened.entries.length > 0
  }

  #finished(): void {
    // A client that leaves before its request is sent says nothing of the upstream.
    if (this.#requestSent && (this.#status === 0 || this.#status === 400)) this.#parts.suspect?.()
    this.#account()
  }

  #account(): void {
    if (this.#since >= 0) spendShare(this.#stop())
    if (this.#requestSent) this.#parts.telemetry.overhead(this.#spent / 1000)
  }

  #observe(notify: (observer: Observer) => void): void {
    if (this.settlement.observer === undefined) return
    try {
      notify(this.settlement.observer)
    } catch (error) {
      this.#observerFailed(error)
    }
  }

  /** Settles the calls of an exchange whose observer failed; the response continues. */
  #observerFailed(err: unknown): void {
    const { observer } = this.settlement
    this.settlement.observer = undefined
    const { logger, telemetry } = this.#parts
    logger.error({ err }, 'a response could not be parsed; it is forwarded unchanged')
    telemetry.unclassified('internal_error')
    observer?.settle('incomplete', 'squall', UNREADABLE)
    try {
      // `gone` releases the remaining resources of the observer.
      observer?.gone()
    } catch {
      // The failure was reported already.
    }
  }
}
