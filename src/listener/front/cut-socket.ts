import type { Socket } from 'node:net'
import type { Cut } from '../exchange.ts'

/** Ends a client's connection by RST, or by FIN after the written bytes. */
export function cutSocket(socket: Socket, how: Cut): void {
  // node:http corks the socket for a tick: bytes written before the cut must be sent.
  while (socket.writableCorked > 0) socket.uncork()
  if (how === 'fin') {
    socket.destroySoon()
    return
  }
  // Only the TCP socket below a TLS socket can be reset.
  const lowest = (socket as { readonly _parent?: Socket | null })._parent ?? socket
  try {
    // libuv resets no socket that is being shut down, and Node would never close it.
    if (!socket.writableEnded && !lowest.writableEnded) lowest.resetAndDestroy()
  } catch {
    // Pipes and Unix sockets have no reset.
  }
  socket.destroy()
}
