import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/**
 * Takes no more connections. `close` of node:http would also end connections whose responses have not
 * left yet, and no longer watch the time that heads take.
 */
export function stopListening(server: Server): void {
  NetServer.prototype.close.call(server)
}

/** Calls back when all that had arrived on the sockets by now has been read. */
export function afterReads(act: () => void): void {
  // The first one may come in the midst of the reads of this turn, and the second behind all of the next.
  setImmediate(() => setImmediate(act))
}

/** Returns the sockets on which node:http waits for a request of which nothing has arrived. */
export function waitingSockets(server: Server, sockets: Iterable<Socket>): ReadonlySet<Socket> {
  const waiting = new Set<Socket>()
  const asked = [...sockets]
  // node:http tells by ending them alone; here they end once what was written to them has left.
  for (const socket of asked) {
    socket.destroy = () => {
      waiting.add(socket)
      return socket
    }
  }
  server.closeIdleConnections()
  for (const socket of asked) delete (socket as Partial<Socket>).destroy
  return waiting
}
