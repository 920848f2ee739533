import type { ClientConnection } from './client-connection.ts'
import type { Answer, ExchangeListener } from './exchange.ts'
import type { AnswerOwner } from './node-answer.ts'
import type { OpenBody, OpenExchange } from './open-exchange.ts'

/** What exchanges have in common, whoever reads their requests: how they belong to a connection and end. */
export abstract class ClientExchange implements AnswerOwner, OpenExchange {
  abstract readonly answer: Answer & { ended: boolean }
  abstract readonly body: OpenBody
  listener: ExchangeListener | undefined
  newer: OpenExchange | undefined
  older: OpenExchange | undefined
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

  /** The client takes data again. */
  drained(): void {
    this.listener?.drained()
  }

  /** Nothing more will be written. */
  over(): void {
    if (this.#over) return
    this.#over = true
    this.#connection.remove(this)
  }

  /** The client's connection is over. */
  closed(): void {
    this.over()
    if (this.answer.ended) return
    this.answer.ended = true
    this.listener?.gone()
  }
}
