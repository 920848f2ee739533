import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { afterReads } from '../../base/after-reads.ts'

/**
 * Accepts the connections that wait in the kernel's queue, which would be reset, and then stops
 * accepting. `close` of node:http would also end connections with unsent responses, and stop the
 * timeout of request heads.
 */
export async function stopListening(server: Server): Promise<void> {
  const seen = { accepted: 0 }
  const count = (): number => ++seen.accepted
  server.on('connection', count)
  // The queue of up to 1024 cannot be seen: it is empty when none came while the loop polled once.
  for (let before = -1; server.listening && before < seen.accepted && seen.accepted < 1024;) {
    before = seen.accepted
    await new Promise<void>((resolve) => afterReads(resolve))
  }
  server.off('connection', count)
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
