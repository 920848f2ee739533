import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/**
 * Stops accepting connections. `close` of node:http would also end connections with unsent
 * responses, and stop the timeout of request heads.
 */
export function stopListening(server: Server): void {
  NetServer.prototype.close.call(server)
}

/** Returns the sockets on which node:http waits for the first byte of a request. */
export function waitingSockets(server: Server, sockets: Iterable<Socket>): ReadonlySet<Socket> {
  const waiting = new Set<Socket>()
  const candidates = [...sockets]
  // node:http only destroys idle sockets: `destroy` is replaced to learn which they are.
  for (const socket of candidates) {
    socket.destroy = () => {
      waiting.add(socket)
      return socket
    }
  }
  server.closeIdleConnections()
  for (const socket of candidates) delete (socket as Partial<Socket>).destroy
  return waiting
}
