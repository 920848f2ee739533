import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { afterReads } from '../../base/after-reads.ts'

/** The most connections that wait in the kernel's queue. */
const QUEUE = 1024

/**
 * Accepts the connections that wait in the kernel's queue, which would be reset, and then stops
 * accepting. `close` of node:http would also end connections with unsent responses, and stop the
 * timeout of request heads.
 */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // The queue cannot be seen: it is empty when no connection arrived while the loop polled once.
    let before = -1
    let accepted = 0
    const count = (): number => ++accepted
    const next = (): void => {
      if (server.listening && accepted > before && accepted < QUEUE) {
        before = accepted
        afterReads(next)
        return
      }
      server.off('connection', count)
      NetServer.prototype.close.call(server)
      resolve()
    }
    server.on('connection', count)
    next()
  })
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
