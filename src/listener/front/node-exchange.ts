import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type HeaderLines,
  type RequestHead,
  headerValue,
  linesWithout,
} from '../../http/headers.ts'
import { type ClientConnection, ClientExchange, HeldMemory } from './client-connection.ts'
import type { Exchange } from '../exchange.ts'
import { NodeResponse } from './node-response.ts'
import { NodeBody } from './node-body.ts'

/** Adapts a request and response of node:http to an exchange. */
export class NodeExchange extends ClientExchange implements Exchange {
  readonly head: RequestHead
  readonly body: NodeBody
  readonly response: NodeResponse
  readonly #socket: Socket
  readonly #held: HeldMemory

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    awaitsContinue: boolean,
    connection: ClientConnection,
  ) {
    super(connection)
    this.#held = new HeldMemory(connection.memory)
    this.#socket = req.socket
    const head = requestHead(req)
    this.head = awaitsContinue ? { ...head, headers: withoutExpect(head.headers) } : head
    const beforeRead = awaitsContinue ? once(() => res.writeContinue()) : nothing
    this.body = new NodeBody(req, declaredLength(req), beforeRead, this.#held)
    this.response = new NodeResponse(res, this)
  }

  get peer(): string | undefined {
    return this.#socket.remoteAddress
  }

  protected override release(): void {
    this.#held.end()
  }
}

/** Returns the head as received. */
export function requestHead(req: IncomingMessage): RequestHead {
  return {
    method: req.method ?? '',
    target: req.url ?? '',
    version: req.httpVersion === '1.0' ? '1.0' : '1.1',
    headers: req.rawHeaders,
  }
}

/**
 * Returns the declared length; undefined means chunked. The parser has rejected anything but a
 * number.
 */
function declaredLength(req: IncomingMessage): number | undefined {
  const lines = req.rawHeaders
  if (headerValue(lines, 'transfer-encoding') !== undefined) return undefined
  const value = headerValue(lines, 'content-length')
  return value === undefined ? 0 : Number(value)
}

/** Removes `Expect`: Squall itself sends `100 Continue`, because it reads the body. */
function withoutExpect(lines: HeaderLines): HeaderLines {
  return linesWithout(lines, (name) => name === 'expect')
}

function nothing(): void {
  // Most clients send the body without waiting for `100 Continue`.
}

function once(act: () => void): () => void {
  let acted = false
  return () => {
    if (acted) return
    acted = true
    act()
  }
}
