import type { Socket } from 'node:net'
import type { Cut } from '../exchange.ts'

/** Under TLS the TCP socket that can be reset lies below the one that node:http knows. */
interface Layered {
  readonly _parent?: Socket | null
}

/** Ends a client's connection by RST, or by FIN after what was written has left. */
export function cutSocket(socket: Socket, how: Cut): void {
  // node:http corks the socket for the length of a tick: what was written before the cut must leave.
  while (socket.writableCorked > 0) socket.uncork()
  if (how === 'fin') {
    socket.destroySoon()
    return
  }
  const lowest = (socket as Layered)._parent ?? socket
  try {
    lowest.resetAndDestroy()
  } catch {
    // A pipe or Unix socket knows no reset.
  }
  socket.destroy()
}
