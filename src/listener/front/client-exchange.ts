import type { ClientConnection } from './client-connection.ts'
import type { ClientResponse, ExchangeListener } from '../exchange.ts'
import type { Stalled } from '../memory-budget.ts'
import type { ResponseOwner } from './node-response.ts'
import type { OpenBody, OpenExchange } from './open-exchange.ts'

/** What exchanges have in common, whoever reads their requests: how they belong to a connection and end. */
export abstract class ClientExchange implements ResponseOwner, OpenExchange, Stalled {
  abstract readonly response: ClientResponse & { ended: boolean }
  abstract readonly body: OpenBody
  listener: ExchangeListener | undefined
  newer: OpenExchange | undefined
  older: OpenExchange | undefined
  stalledAt = -1
  /** Bytes that the budget counts for it. */
  protected held = 0
  readonly #connection: ClientConnection
  #over = false

  constructor(connection: ClientConnection) {
    this.#connection = connection
    connection.last = connection.oldest === undefined ? undefined : this
    connection.add(this)
  }

  /** No further request is read from this connection. */
  closing(): void {
    this.#connection.closing = true
  }

  /** The tick in which the head was written is over. */
  tickOver(): void {
    this.listener?.tickOver()
  }

  /** Counts bytes that are kept until the exchange is over; false when there is no room for them. */
  hold(bytes: number): boolean {
    if (this.#over || !this.#connection.memory.take(bytes)) return false
    this.held += bytes
    return true
  }

  /** As `hold`, after a wait for room where there is none. Not told once the exchange is over. */
  holdSoon(bytes: number, done: (isHeld: boolean) => void): void {
    if (this.hold(bytes)) {
      done(true)
      return
    }
    const { memory } = this.#connection
    memory.wait(bytes, (isGranted) => {
      if (this.#over) {
        if (isGranted) memory.give(bytes)
        return
      }
      if (isGranted) this.held += bytes
      done(isGranted)
    })
  }

  /** The client takes no more for now. */
  stall(): void {
    if (this.stalledAt >= 0 || this.#over) return
    this.stalledAt = performance.now()
    this.#connection.memory.stall(this)
  }

  giveUp(): void {
    this.listener?.dropped()
    this.body.destroy()
  }

  /** The client takes data again. */
  drained(): void {
    this.#goOn()
    this.listener?.drained()
  }

  /** Nothing more will be written. */
  over(): void {
    if (this.#over) return
    this.#over = true
    this.#goOn()
    this.#connection.memory.give(this.held)
    this.#connection.remove(this)
  }

  /** The client's connection is over. */
  closed(): void {
    this.over()
    if (this.response.ended) return
    this.response.ended = true
    this.listener?.gone()
  }

  #goOn(): void {
    if (this.stalledAt < 0) return
    this.stalledAt = -1
    this.#connection.memory.goOn(this)
  }
}
