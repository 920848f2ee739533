import type { HeaderLines, ResponseHead } from '../mcp/http.ts'
import type { Failure, ResponseSink, Transfer } from '../mcp/transfer.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import type { Observer } from './observer.ts'

/** What a relay tells the pipeline. */
export interface RelayEnd {
  /** The exchange is over: answered, broken off, or left by the client. 0 where no head was sent. */
  finished(status: number): void
  /** The app gave no usable answer and none has been started: somebody has to. */
  unanswered(failure: Failure): void
  /** Watching the answer failed; the answer itself goes on. */
  blind(error: unknown): void
}

/** Passes one answer from the app to the client, with an observer looking on. */
export class Relay implements ResponseSink, ExchangeListener {
  readonly #exchange: Exchange
  readonly #end: RelayEnd
  #observer: Observer | null
  #transfer: Transfer | undefined
  #status = 0
  #over = false

  constructor(exchange: Exchange, observer: Observer | null, end: RelayEnd) {
    this.#exchange = exchange
    this.#observer = observer
    this.#end = end
    exchange.listener = this
  }

  /** The relay ends this transfer when the client leaves. */
  attach(transfer: Transfer): void {
    if (this.#over) transfer.abort()
    else this.#transfer = transfer
  }

  info(head: ResponseHead): void {
    this.#exchange.answer.info(head)
  }

  head(head: ResponseHead): void {
    if (this.#over) return
    try {
      this.#exchange.answer.head(head)
    } catch (error) {
      this.#transfer?.abort()
      this.fail({ kind: 'protocol', message: `unusable head: ${(error as Error).message}` })
      return
    }
    this.#status = head.status
    if (this.#observer === null) return
    try {
      this.#observer.head(head)
    } catch (error) {
      this.#blind(error)
    }
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return true
    const more = this.#exchange.answer.data(chunk)
    if (this.#observer !== null) {
      try {
        this.#observer.data(chunk)
      } catch (error) {
        this.#blind(error)
      }
    }
    return more
  }

  end(trailers: HeaderLines): void {
    if (this.#over) return
    this.#over = true
    this.#exchange.answer.end(trailers)
    if (this.#observer !== null) {
      try {
        this.#observer.end(trailers)
      } catch (error) {
        this.#blind(error)
      }
    }
    this.#end.finished(this.#status)
  }

  fail(failure: Failure): void {
    if (this.#over) return
    this.#over = true
    const { answer } = this.#exchange
    if (!answer.started && failure.kind !== 'reset' && failure.kind !== 'closed') {
      this.#end.unanswered(failure)
      return
    }
    answer.cut(failure.kind === 'closed' ? 'fin' : 'rst')
    this.#observe((observer) => observer.fail(failure))
    this.#end.finished(this.#status)
  }

  drained(): void {
    this.#transfer?.resume()
  }

  gone(): void {
    if (this.#over) return
    this.#over = true
    this.#transfer?.abort()
    this.#observe((observer) => observer.gone())
    this.#end.finished(this.#status)
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
    this.#observer = null
    this.#end.blind(error)
  }
}
