import { NO_TRANSFER, type Transfer } from '../http/transfer.ts'
import type { Origin } from '../mcp/call.ts'
import type { Explained } from './ended-call.ts'
import type { Exchange } from './exchange.ts'
import type { StackParts } from './layers/layer.ts'
import type { Observer } from './observer.ts'
import type { SentPost } from './redirected-calls.ts'
import { type Rejection, rejectionResponse, type WholeResponse } from './rejection.ts'

const NO_POST: SentPost = { posted: undefined, entries: [] }

/** Settles an exchange whose response is not the upstream's. */
export class LocalResponse {
  ended = false
  /** Undefined when nobody counts the exchange, or no longer. */
  observer: Observer | undefined
  /** The POST whose calls the observer settles. */
  post = NO_POST
  readonly #exchange: Exchange
  readonly #parts: Pick<StackParts, 'logger' | 'telemetry'>

  constructor(
    exchange: Exchange,
    observer: Observer | undefined,
    parts: Pick<StackParts, 'logger' | 'telemetry'>,
  ) {
    this.#exchange = exchange
    this.observer = observer
    this.#parts = parts
  }

  /** Sets the observer of the response, and the POST whose calls it settles. */
  observe(observer: Observer, post = NO_POST): void {
    this.observer = observer
    this.post = post
  }

  /** Responds to a request that Squall does not accept, or whose upstream does not respond. */
  reject(rejection: Rejection): Transfer {
    const { reason, status, message } = rejection
    const { entries, posted } = this.post
    this.#parts.telemetry.rejected(reason)
    // The end of an ambiguous request is ambiguous, too.
    if (reason === 'ambiguous_request') this.#exchange.response.closeAfter()
    const calls = entries.map(({ call }) => call)
    const whole = rejectionResponse(rejection, calls, posted?.batch ?? false)
    return this.respond(whole, 'squall', { status, message })
  }

  /** Rejects a request that failed inside Squall. */
  failInside(err: unknown): void {
    this.#parts.logger.error({ err }, 'an exchange failed inside Squall')
    this.reject({ status: 500, reason: 'internal_error', message: 'internal error' })
  }

  /** Ends the exchange by a whole response. */
  respond(whole: WholeResponse, origin: Origin, error: Explained): Transfer {
    this.ended = true
    const { response } = this.#exchange
    if (response.started) response.cut('rst')
    else {
      response.head(whole.head)
      response.data(whole.bytes)
      response.end([])
    }
    this.observer?.settle('http_error', origin, error)
    return NO_TRANSFER
  }
}
