import type { Socket } from 'node:net'
import { spendShare } from '../../base/event-loop.ts'
import { Chain, type Link } from '../../base/linked-list.ts'
import type { ClientResponse, ExchangeListener } from '../exchange.ts'
import { BodyWatch } from '../hold-watch.ts'
import type { MemoryBudget, Stalled } from '../memory-budget.ts'
import type { FrontOptions } from './front-options.ts'
import type { PacedInput } from './paced-input.ts'

/** A request body that may still be arriving. */
export interface OpenBody {
  /** True when the client has sent the whole body, read or not. */
  readonly arrived: boolean
  /** True while the body is held until it is complete. */
  readonly isHeld: boolean
  /** True while bytes that the client has sent wait to be read. */
  readonly isUnread: boolean
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
  readonly connection: ClientConnection
  readonly #socket: Socket
  /** Created when the body is late. */
  #watch: BodyWatch | undefined
  /** Set while the client does not read. */
  #stalled: Stalled | undefined
  #hasEnded = false

  constructor(connection: ClientConnection, socket: Socket) {
    this.connection = connection
    this.#socket = socket
    connection.last = connection.oldest === undefined ? undefined : this
    connection.add(this)
  }

  get peer(): string | undefined {
    return this.#socket.remoteAddress
  }

  /** Returns true when the client pauses for too long within its body, or sends it too slowly. */
  isSlow(now: number, { bodyTimeout, holdTimeout }: FrontOptions): boolean {
    const { arrived, isHeld, isUnread } = this.body
    if (arrived) return false
    this.#watch ??= new BodyWatch(this.#socket)
    if (this.#watch.stalledFor(now, isUnread) > bodyTimeout) return true
    return isHeld && this.#watch.tooLong(now, holdTimeout)
  }

  stall(): void {
    if (this.#stalled !== undefined || this.#hasEnded) return
    const disconnect = (): void => {
      this.listener?.dropped()
      this.#socket.destroy()
    }
    this.#stalled = { stalledAt: performance.now(), disconnect }
    this.connection.memory.stalled.add(this.#stalled)
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
    this.connection.remove(this)
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
    this.connection.memory.stalled.remove(this.#stalled)
    this.#stalled = undefined
  }
}
