import type { ClientConnection, OpenBody, OpenExchange } from './client-connection.ts'
import type { ClientResponse, ExchangeListener } from '../exchange.ts'
import type { Stalled } from '../memory-budget.ts'
import type { ResponseOwner } from './node-response.ts'

/** Implements what exchanges of both engines share: membership in a connection, memory and end. */
export abstract class ClientExchange implements ResponseOwner, OpenExchange, Stalled {
  abstract readonly response: ClientResponse & { ended: boolean }
  abstract readonly body: OpenBody
  listener: ExchangeListener | undefined
  newer: OpenExchange | undefined
  older: OpenExchange | undefined
  stalledAt = -1
  /** Bytes that the budget counts for the exchange. */
  protected held = 0
  readonly #connection: ClientConnection
  #hasEnded = false

  constructor(connection: ClientConnection) {
    this.#connection = connection
    connection.last = connection.oldest === undefined ? undefined : this
    connection.add(this)
  }

  closing(): void {
    this.#connection.closing = true
  }

  tickEnded(): void {
    this.listener?.tickEnded()
  }

  hold(bytes: number): boolean {
    if (this.#hasEnded || !this.#connection.memory.take(bytes)) return false
    this.held += bytes
    return true
  }

  /** Holds bytes like `hold`, but waits for room. Does not call `done` after the end of the exchange. */
  holdSoon(bytes: number, done: (isHeld: boolean) => void): void {
    if (this.hold(bytes)) {
      done(true)
      return
    }
    const { memory } = this.#connection
    memory.wait(bytes, (isGranted) => {
      if (this.#hasEnded) {
        if (isGranted) memory.give(bytes)
        return
      }
      if (isGranted) this.held += bytes
      done(isGranted)
    })
  }

  stall(): void {
    if (this.stalledAt >= 0 || this.#hasEnded) return
    this.stalledAt = performance.now()
    this.#connection.memory.stall(this)
  }

  disconnect(): void {
    this.listener?.dropped()
    this.body.destroy()
  }

  drained(): void {
    this.#unstall()
    this.listener?.drained()
  }

  ended(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#unstall()
    this.#connection.memory.give(this.held)
    this.#connection.remove(this)
  }

  closed(): void {
    this.ended()
    if (this.response.ended) return
    this.response.ended = true
    this.listener?.gone()
  }

  #unstall(): void {
    if (this.stalledAt < 0) return
    this.stalledAt = -1
    this.#connection.memory.resume(this)
  }
}
