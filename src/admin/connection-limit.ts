import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pacedParser, type PacedInput } from '../listener/front/paced-input.ts'
import type { AdminHandler } from './handler.ts'

/** At most two requests fit: their responses are expensive, and their number is small. */
const LINES = 4

/**
 * Serves requests and bounds connections so that clients without a token cannot keep probes out:
 * above the limit, a new connection ends the one that has been idle longest. Above half of the
 * limit, connections end after their response. Pipelined requests wait for the response before.
 */
export function serveWithin(limit: number, server: Server, handler: AdminHandler): void {
  /** The least recently used first. */
  const connections = new Map<Socket, Connection>()
  server.on('connection', (socket: Socket) => {
    if (connections.size >= limit) {
      const all = [...connections]
      const [ended] = all.find(([, { isOpen }]) => !isOpen) ?? all[0]!
      connections.delete(ended)
      ended.destroy()
    }
    connections.set(socket, new Connection(socket))
    socket.once('close', () => connections.delete(socket))
  })
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const connection = connections.get(socket)
    // A connection that made room for another one is not served any more.
    if (connection === undefined) return
    connections.delete(socket)
    connections.set(socket, connection)
    connection.respond(response)
    if (connections.size > limit / 2) response.shouldKeepAlive = false
    handler(request, response)
  }
  server.on('request', serve)
  // No `100 Continue` for a body that is not read.
  server.on('checkContinue', serve)
}

/** A connection with one open request at a time. */
class Connection {
  readonly #input: PacedInput
  #response: ServerResponse | undefined

  constructor(socket: Socket) {
    this.#input = pacedParser(socket, this, LINES)
  }

  /** True while a request has no whole response. */
  get isOpen(): boolean {
    return this.#response?.writableEnded === false
  }

  get oldest(): ServerResponse | undefined {
    return this.isOpen ? this.#response : undefined
  }

  get mayBegin(): boolean {
    return !this.isOpen
  }

  get isArriving(): boolean {
    return this.#response?.req.complete === false
  }

  respond(response: ServerResponse): void {
    this.#response = response
    response.once('close', () => this.#input.resume())
  }
}
