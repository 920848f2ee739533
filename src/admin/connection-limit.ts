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
  /** The least recently used first, each with its last response. */
  const connections = new Map<Socket, ServerResponse | undefined>()
  const inputs = new WeakMap<Socket, PacedInput>()
  server.on('connection', (socket: Socket) => {
    if (connections.size >= limit) {
      const all = [...connections]
      const [ended] = all.find(([, response]) => !isOpen(response)) ?? all[0]!
      connections.delete(ended)
      ended.destroy()
    }
    connections.set(socket, undefined)
    const requests = {
      get oldest() {
        return isOpen(connections.get(socket)) || undefined
      },
      get mayBegin() {
        const response = connections.get(socket)
        return !isOpen(response) || response?.req.complete === false
      },
    }
    const input = pacedParser(socket, requests, LINES)
    inputs.set(socket, input)
    socket.once('close', () => connections.delete(socket))
  })
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // A connection that made room for another one is not served any more.
    if (!connections.delete(request.socket)) return
    connections.set(request.socket, response)
    response.once('close', () => inputs.get(request.socket)?.resume())
    if (connections.size > limit / 2) response.shouldKeepAlive = false
    handler(request, response)
  }
  server.on('request', serve)
  // No `100 Continue` for a body that is not read.
  server.on('checkContinue', serve)
}

function isOpen(response: ServerResponse | undefined): boolean {
  return response?.writableEnded === false
}
