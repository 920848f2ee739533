import type { ChunkRun } from '../http/chunk-run.ts'
import type { HeaderLines, ResponseHead } from '../http/headers.ts'
import { keepsMethod } from '../http/redirect-target.ts'
import type { Failure, ResponseSink, Transfer } from '../http/transfer.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { crowd, nextLoop, spendShare } from '../base/event-loop.ts'
import type { Observer } from './observer.ts'

/** Receives the events of a relay. */
export interface RelayEnd {
  /** The exchange has ended: completed, cut, or left by the client. */
  finished(head: ResponseHead | undefined): void
  /** The response redirects the request. True takes the calls from the observer. */
  redirected(head: ResponseHead): boolean
  /** The upstream gave no usable response: the receiver must respond. */
  upstreamFailed(failure: Failure): void
  /** The observer failed; the response continues. */
  observerFailed(error: unknown): void
  /** Squall ends the connection of a client that does not read. */
  dropped(): void
  /** Called last and once with the time that Squall spent without waiting, in clock units. */
  spent(time: number): void
}

/** The time of a piece up to this size, together with its head, is not measured. */
const SMALL = 16 * 1024

/** Passes one response from the upstream to the client and to an observer. */
export class Relay implements ResponseSink, ExchangeListener {
  readonly #exchange: Exchange
  readonly #end: RelayEnd
  readonly #now: () => number
  #observer: Observer | null
  #transfer: Transfer | undefined
  #head: ResponseHead | undefined
  #ended = false
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

  constructor(exchange: Exchange, observer: Observer | null, end: RelayEnd, now: () => number) {
    this.#exchange = exchange
    this.#observer = observer
    this.#end = end
    this.#now = now
    exchange.listener = this
  }

  /** Sets the transfer, which the relay aborts when the client leaves. */
  attach(transfer: Transfer): void {
    if (this.#ended) transfer.abort()
    else this.#transfer = transfer
  }

  /** Records that the request was sent, which took `spent`. */
  requestSent(spent: number): void {
    this.#spent += spent
    this.#requestSent = true
    // An unreachable upstream has failed before this.
    if (this.#ended) this.#end.spent(this.#spent)
  }

  info(head: ResponseHead): void {
    this.#exchange.response.info(head)
  }

  head(head: ResponseHead, whole?: boolean): void {
    if (this.#ended) return
    this.#begin()
    try {
      this.#exchange.response.head(head, whole)
    } catch (error) {
      this.#transfer?.abort()
      this.fail({ kind: 'protocol', message: `unusable head: ${(error as Error).message}` })
      return
    }
    this.#head = head
    if (this.#observer === null) return
    if (keepsMethod(head.status) && this.#end.redirected(head)) {
      this.#observer = null
      return
    }
    try {
      this.#observer.head(head)
    } catch (error) {
      this.#observerFailed(error)
    }
  }

  data(chunk: Uint8Array): boolean {
    if (this.#ended) return true
    const started = this.#begin()
    const more = this.#exchange.response.data(chunk)
    if (!more) this.#exchange.stall()
    if (this.#observer !== null) {
      try {
        this.#observer.data(chunk)
      } catch (error) {
        this.#observerFailed(error)
      }
    }
    if (this.#observer?.behind === true) return this.#waitInCrowd(more)
    return started || chunk.length > SMALL ? this.#paced(more) : more
  }

  chunks(run: ChunkRun): boolean {
    if (this.#ended) return true
    const started = this.#begin()
    const more = this.#exchange.response.chunks(run)
    if (!more) this.#exchange.stall()
    if (this.#observer !== null) {
      try {
        this.#observer.chunks(run)
      } catch (error) {
        this.#observerFailed(error)
      }
    }
    if (this.#observer?.behind === true) return this.#waitInCrowd(more)
    return started || run.full ? this.#paced(more) : more
  }

  end(trailers: HeaderLines): void {
    if (this.#ended) return
    this.#ended = true
    this.#begin()
    this.#exchange.response.end(trailers)
    if (this.#observer !== null) {
      try {
        this.#observer.end(trailers)
      } catch (error) {
        this.#observerFailed(error)
      }
    }
    this.#end.finished(this.#head)
    this.#account()
  }

  fail(failure: Failure): void {
    if (this.#ended) return
    this.#ended = true
    this.#begin()
    const { response } = this.#exchange
    if (!response.started && failure.kind !== 'reset' && failure.kind !== 'closed') {
      this.#end.upstreamFailed(failure)
    } else {
      response.cut(failure.kind === 'closed' ? 'fin' : 'rst')
      this.#observe((observer) => observer.fail(failure))
      this.#end.finished(this.#head)
    }
    this.#account()
  }

  drained(): void {
    this.#isWanted = true
    if (!this.#isResting) this.#transfer?.resume()
  }

  gone(): void {
    if (this.#ended) return
    this.#ended = true
    this.#begin()
    this.#transfer?.abort()
    this.#observe((observer) => observer.gone())
    this.#end.finished(this.#head)
    this.#account()
  }

  dropped(): void {
    if (!this.#ended) this.#end.dropped()
  }

  /**
   * Stops the clock, because waiting begins. Most responses are complete in the tick of their head,
   * and one reading of the clock costs a third of a reading for each part.
   */
  tickEnded(): void {
    if (this.#since >= 0) this.#stop()
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
    if (this.#isWanted && !this.#ended) this.#transfer?.resume()
  }

  /** Stops the clock and returns its time. */
  #stop(): number {
    const time = this.#now() - this.#since
    this.#spent += time
    this.#since = -1
    return time
  }

  /** Starts the clock; returns false when it is running. */
  #begin(): boolean {
    if (this.#since >= 0) return false
    this.#since = this.#now()
    return true
  }

  #account(): void {
    if (this.#since >= 0) spendShare(this.#stop())
    if (this.#requestSent) this.#end.spent(this.#spent)
  }

  #observe(notify: (observer: Observer) => void): void {
    if (this.#observer === null) return
    try {
      notify(this.#observer)
    } catch (error) {
      this.#observerFailed(error)
    }
  }

  #observerFailed(error: unknown): void {
    const observer = this.#observer
    this.#observer = null
    this.#end.observerFailed(error)
    try {
      // The calls are settled; `gone` releases the remaining resources of the observer.
      observer?.gone()
    } catch {
      // The failure was reported already.
    }
  }
}
