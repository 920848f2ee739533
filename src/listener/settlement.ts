import type { Transfer } from '../http/transfer.ts'
import type { Origin } from '../mcp/call.ts'
import type { Explained } from './ended-call.ts'
import type { Exchange } from './exchange.ts'
import { NO_TRANSFER } from './layers/service.ts'
import type { StackParts } from './layers/stack-parts.ts'
import type { Observer } from './observer.ts'
import type { SentPost } from './redirected-calls.ts'
import { type Rejection, rejectionResponse, type WholeResponse } from './rejection.ts'

/** Settles one exchange: by the observer of its response, or by a response of Squall's own. */
export class Settlement {
  ended = false
  /** Undefined when nobody counts the exchange, or no longer. */
  observer: Observer | undefined
  /** The request whose calls the observer settles. */
  opened: SentPost | undefined
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

  observe(observer: Observer, opened?: SentPost): void {
    this.observer = observer
    this.opened = opened
  }

  /** Responds to a request that Squall does not accept, or whose upstream does not respond. */
  reject(rejection: Rejection): Transfer {
    const { reason, status, message } = rejection
    this.#parts.telemetry.rejected(reason)
    // The end of an ambiguous request is ambiguous, too.
    if (reason === 'ambiguous_request') this.#exchange.response.closeAfter()
    const { entries = [], posted } = this.opened ?? {}
    const calls = entries.map(({ call }) => call)
    const whole = rejectionResponse(rejection, calls, posted?.batch === true)
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
