import { spendShare } from '../../base/event-loop.ts'
import { Chain, type Link } from '../../base/linked-list.ts'
import type { ClientResponse, ExchangeListener } from '../exchange.ts'
import type { MemoryBudget, Stalled } from '../memory-budget.ts'
import type { PacedInput } from './paced-input.ts'

/** A request body that may still be arriving. */
export interface OpenBody {
  readonly whole: boolean
  /** True when the client has sent the whole body, read or not. */
  readonly arrived: boolean
  /** Returns the time since the client last sent bytes, in the unit of `now`. */
  stalledFor(now: number): number
  /** Returns true when the body is held until it is complete, and takes too long. */
  heldTooLong(now: number, timeout: number): boolean
  /** Ends the client's connection. */
  destroy(): void
}

/** The fast reader of a connection. */
export interface FastReader {
  /** Ends the connection where it has been idle, or takes too long. */
  sweep(now: number): void
}

/** The most open requests of one connection; beyond them its bytes wait. */
export const MOST_OPEN = 4

/**
 * Links the open exchanges of a client's connection in a list, because the discarded tables of a
 * Set would keep ended exchanges from being collected early.
 */
export class ClientConnection extends Chain<ClientExchange> {
  readonly memory: MemoryBudget
  /** True when no further request is read. */
  closing = false
  /** True for a connection above the bound, which is rejected while the bound is met. */
  surplus = false
  requests = 0
  /** The last request if it was pipelined behind open ones; it may have ended. */
  last: ClientExchange | undefined
  /** The fast reader; undefined when node:http reads the connection. */
  fast: FastReader | undefined
  /** The bytes of the client; undefined for an upgraded connection. */
  input: PacedInput | undefined
  /** Requests that were ignored after the last one. */
  #ignored = 0

  constructor(memory: MemoryBudget) {
    super()
    this.memory = memory
  }

  get mayBegin(): boolean {
    return this.size < MOST_OPEN && this.#ignored <= MOST_OPEN
  }

  get isArriving(): boolean {
    return this.newest?.body.arrived === false && this.#ignored <= MOST_OPEN
  }

  /** Ignores a request that came too late; stops reading after too many of them. */
  ignore(): void {
    this.#ignored++
  }

  override remove(link: ClientExchange): void {
    super.remove(link)
    this.input?.resume()
  }

  /**
   * Ends the open exchanges of a client that has left, and calls `done`. Only one at a time when
   * the share of this iteration is used up, as many clients may leave at once.
   */
  closed(done: () => void): void {
    while (this.oldest !== undefined) {
      const begun = performance.now()
      this.oldest.closed()
      if (spendShare(performance.now() - begun) && this.oldest !== undefined) {
        setImmediate(() => this.closed(done))
        return
      }
    }
    done()
  }
}

/** Implements what exchanges of both engines share: membership in a connection, and their end. */
export abstract class ClientExchange implements Link<ClientExchange> {
  abstract readonly response: ClientResponse & { ended: boolean }
  abstract readonly body: OpenBody
  listener: ExchangeListener | undefined
  newer: ClientExchange | undefined
  older: ClientExchange | undefined
  readonly #connection: ClientConnection
  /** Set while the client does not read. */
  #stalled: Stalled | undefined
  #hasEnded = false

  constructor(connection: ClientConnection) {
    this.#connection = connection
    connection.last = connection.oldest === undefined ? undefined : this
    connection.add(this)
  }

  /** Records that the connection ends after the response. */
  closing(): void {
    this.#connection.closing = true
  }

  /** Records that the tick in which the head was written has ended. */
  tickEnded(): void {
    this.listener?.tickEnded()
  }

  stall(): void {
    if (this.#stalled !== undefined || this.#hasEnded) return
    const disconnect = (): void => {
      this.listener?.dropped()
      this.body.destroy()
    }
    this.#stalled = { stalledAt: performance.now(), disconnect }
    this.#connection.memory.stalled.add(this.#stalled)
  }

  drained(): void {
    this.#unstall()
    this.listener?.drained()
  }

  /** Records that nothing more will be written. */
  ended(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#unstall()
    this.release()
    this.#connection.remove(this)
  }

  /** Releases the memory of the exchange. */
  protected abstract release(): void

  /** Records that the client's connection has closed. */
  closed(): void {
    this.ended()
    if (this.response.ended) return
    this.response.ended = true
    this.listener?.gone()
  }

  #unstall(): void {
    if (this.#stalled === undefined) return
    this.#connection.memory.stalled.remove(this.#stalled)
    this.#stalled = undefined
  }
}
