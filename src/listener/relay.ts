import type { ChunkRun } from '../http/chunk-run.ts'
import type { HeaderLines, ResponseHead } from '../http/headers.ts'
import { keepsMethod } from '../http/redirect-target.ts'
import type { Failure, ResponseSink, Transfer } from '../http/transfer.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { loopTurn } from './faults/chain/loop-turn.ts'
import { spendShare } from './loop-share.ts'
import type { Observer } from './observer.ts'

/** What a relay tells the pipeline. */
export interface RelayEnd {
  /** The exchange is over: answered, broken off, or left by the client. 0 where no head was sent. */
  finished(status: number): void
  /** The client is sent elsewhere with its request. True takes the calls from whoever watches. */
  redirected(head: ResponseHead): boolean
  /** The app gave no usable response and none has been started: somebody has to. */
  unanswered(failure: Failure): void
  /** Watching the response failed; the response itself goes on. */
  blind(error: unknown): void
  /** Squall ends the connection of a client that does not read. */
  dropped(): void
  /** Told last, once: the time that was spent here and not waiting, in the unit of the clock. */
  spent(time: number): void
}

/** A piece up to this size that comes with its head takes no time worth counting. */
const SMALL = 16 * 1024

/** Passes one response from the app to the client, with an observer looking on. */
export class Relay implements ResponseSink, ExchangeListener {
  readonly #exchange: Exchange
  readonly #end: RelayEnd
  readonly #now: () => number
  #observer: Observer | null
  #transfer: Transfer | undefined
  #status = 0
  #over = false
  #handedOver = false
  #spent = 0
  /** Since when the clock runs; negative while it stands. */
  #since = -1

  constructor(exchange: Exchange, observer: Observer | null, end: RelayEnd, now: () => number) {
    this.#exchange = exchange
    this.#observer = observer
    this.#end = end
    this.#now = now
    exchange.listener = this
  }

  /** The relay ends this transfer when the client leaves. */
  attach(transfer: Transfer): void {
    if (this.#over) transfer.abort()
    else this.#transfer = transfer
  }

  /** The request is on its way; `spent` is what that took. */
  handedOver(spent: number): void {
    this.#spent += spent
    this.#handedOver = true
    // An app that cannot be asked has failed before this.
    if (this.#over) this.#end.spent(this.#spent)
  }

  info(head: ResponseHead): void {
    this.#exchange.response.info(head)
  }

  head(head: ResponseHead, whole?: boolean): void {
    if (this.#over) return
    this.#begin()
    try {
      this.#exchange.response.head(head, whole)
    } catch (error) {
      this.#transfer?.abort()
      this.fail({ kind: 'protocol', message: `unusable head: ${(error as Error).message}` })
      return
    }
    this.#status = head.status
    if (this.#observer === null) return
    if (keepsMethod(head.status) && this.#end.redirected(head)) {
      this.#observer = null
      return
    }
    try {
      this.#observer.head(head)
    } catch (error) {
      this.#blind(error)
    }
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return true
    const started = this.#begin()
    const more = this.#exchange.response.data(chunk)
    if (!more) this.#exchange.stall()
    if (this.#observer !== null) {
      try {
        this.#observer.data(chunk)
      } catch (error) {
        this.#blind(error)
      }
    }
    return started || chunk.length > SMALL ? this.#paced(more) : more
  }

  chunks(run: ChunkRun): boolean {
    if (this.#over) return true
    const started = this.#begin()
    const more = this.#exchange.response.chunks(run)
    if (!more) this.#exchange.stall()
    if (this.#observer !== null) {
      try {
        this.#observer.chunks(run)
      } catch (error) {
        this.#blind(error)
      }
    }
    return started ? this.#paced(more) : more
  }

  end(trailers: HeaderLines): void {
    if (this.#over) return
    this.#over = true
    this.#begin()
    this.#exchange.response.end(trailers)
    if (this.#observer !== null) {
      try {
        this.#observer.end(trailers)
      } catch (error) {
        this.#blind(error)
      }
    }
    this.#end.finished(this.#status)
    this.#account()
  }

  fail(failure: Failure): void {
    if (this.#over) return
    this.#over = true
    this.#begin()
    const { response } = this.#exchange
    if (!response.started && failure.kind !== 'reset' && failure.kind !== 'closed') {
      this.#end.unanswered(failure)
    } else {
      response.cut(failure.kind === 'closed' ? 'fin' : 'rst')
      this.#observe((observer) => observer.fail(failure))
      this.#end.finished(this.#status)
    }
    this.#account()
  }

  drained(): void {
    this.#transfer?.resume()
  }

  gone(): void {
    if (this.#over) return
    this.#over = true
    this.#begin()
    this.#transfer?.abort()
    this.#observe((observer) => observer.gone())
    this.#end.finished(this.#status)
    this.#account()
  }

  dropped(): void {
    if (!this.#over) this.#end.dropped()
  }

  /**
   * Stops the clock: what follows is waiting. Most responses are whole in the tick of their head, and
   * reading the clock once for all of it costs a third of reading it for each part.
   */
  tickOver(): void {
    if (this.#since >= 0) this.#stop()
  }

  /** Stops the clock, and asks for a pause where other calls are to have a turn. */
  #paced(more: boolean): boolean {
    if (!spendShare(this.#stop()) || !more) return more
    void loopTurn().then(() => this.#over || this.drained())
    return false
  }

  /** Returns for how long the clock ran. */
  #stop(): number {
    const time = this.#now() - this.#since
    this.#spent += time
    this.#since = -1
    return time
  }

  /** Starts the clock; false when it runs already. */
  #begin(): boolean {
    if (this.#since >= 0) return false
    this.#since = this.#now()
    return true
  }

  #account(): void {
    this.tickOver()
    if (this.#handedOver) this.#end.spent(this.#spent)
  }

  #observe(tell: (observer: Observer) => void): void {
    if (this.#observer === null) return
    try {
      tell(this.#observer)
    } catch (error) {
      this.#blind(error)
    }
  }

  #blind(error: unknown): void {
    const observer = this.#observer
    this.#observer = null
    this.#end.blind(error)
    try {
      // Its calls are closed by now; what it still holds must not stay counted as open.
      observer?.gone()
    } catch {
      // It has failed once: there is nothing more to learn from it.
    }
  }
}
