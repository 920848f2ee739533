import type { Link } from '../../base/linked-list.ts'
import type { ClientResponse } from '../exchange.ts'

/** What a front end must be able to do to an exchange that is open on one of its connections. */
export interface OpenExchange extends Link<OpenExchange> {
  readonly response: Pick<ClientResponse, 'closeAfter'>
  readonly body: OpenBody
  /** The client's connection is over. */
  closed(): void
}

/** A body that may still be on its way. */
export interface OpenBody {
  readonly whole: boolean
  /** Nothing of it is still to come from the client, be it read here or not. */
  readonly arrived: boolean
  /** How long the client has sent nothing, in the clock of the caller. */
  stalledFor(now: number): number
  /** Whether it is held until it is whole, and takes too long for that. */
  heldTooLong(now: number, timeout: number): boolean
  /** Ends the client's connection. */
  destroy(): void
}
