import type { IncomingMessage, ServerResponse } from 'node:http'
import { headerValue, linesWithout, type HeaderLines, type RequestHead } from '../mcp/http.ts'
import type { ClientConnection } from './client-connection.ts'
import type { Exchange, ExchangeListener } from './exchange.ts'
import { NodeAnswer, type AnswerOwner } from './node-answer.ts'
import { NodeBody } from './node-body.ts'
import type { OpenExchange } from './open-exchange.ts'

/** One exchange of node:http. */
export class NodeExchange implements Exchange, AnswerOwner, OpenExchange {
  readonly head: RequestHead
  readonly body: NodeBody
  readonly answer: NodeAnswer
  listener: ExchangeListener | undefined
  readonly #connection: ClientConnection
  newer: OpenExchange | undefined
  older: OpenExchange | undefined
  #over = false

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    awaitsContinue: boolean,
    connection: ClientConnection,
  ) {
    const head = requestHead(req)
    this.head = awaitsContinue ? { ...head, headers: withoutExpect(head.headers) } : head
    const wanted = awaitsContinue ? once(() => res.writeContinue()) : nothing
    this.body = new NodeBody(req, declaredLength(req), wanted)
    this.answer = new NodeAnswer(res, this)
    this.#connection = connection
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

/** The head as it stood on the wire. */
export function requestHead(req: IncomingMessage): RequestHead {
  return {
    method: req.method ?? '',
    target: req.url ?? '',
    version: req.httpVersion === '1.0' ? '1.0' : '1.1',
    headers: req.rawHeaders,
  }
}

/** Length by the head; undefined means chunked. The parser has refused anything that is not a number. */
function declaredLength(req: IncomingMessage): number | undefined {
  const lines = req.rawHeaders
  if (headerValue(lines, 'transfer-encoding') !== undefined) return undefined
  const value = headerValue(lines, 'content-length')
  return value === undefined ? 0 : Number(value)
}

/** `100 Continue` is answered here, because the body is read here: the expectation is met. */
function withoutExpect(lines: HeaderLines): HeaderLines {
  return linesWithout(lines, (name) => name === 'expect')
}

function nothing(): void {
  // Most clients send their body without being asked.
}

function once(act: () => void): () => void {
  let acted = false
  return () => {
    if (acted) return
    acted = true
    act()
  }
}
