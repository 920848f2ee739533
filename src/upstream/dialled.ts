import type { Socket } from 'node:net'

/**
 * The connections that are open, by `address port` with the own port: by them a listener for
 * captured connections recognizes those of its own process.
 */
export type DialledSockets = Map<string, Socket>

/** Keeps a connection while it is open. */
export function noteDial(socket: Socket, dialled: DialledSockets): void {
  socket.once('connectionAttempt', (address: string) => {
    // The port is known once the attempt has begun.
    process.nextTick(() => {
      if (socket.destroyed || socket.localPort === undefined) return
      const key = `${address} ${socket.localPort}`
      dialled.set(key, socket)
      socket.once('close', () => {
        if (dialled.get(key) === socket) dialled.delete(key)
      })
    })
  })
}

/**
 * Returns true for the other end of a connection that is open. Once both sides have ended, another
 * program may get the port before the connection is closed here.
 */
export function isDialled(
  dialled: DialledSockets,
  address: string,
  port: number | undefined,
): boolean {
  const socket = dialled.get(`${address} ${port}`)
  return socket !== undefined && !(socket.readableEnded && socket.writableEnded)
}
