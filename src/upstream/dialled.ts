import type { Socket } from 'node:net'

/**
 * Keeps the address and the own port of a connection while it is open, as `address port`: by them a
 * listener for captured connections recognizes those of its own process.
 */
export function noteDial(socket: Socket, dialled: Set<string>): void {
  socket.once('connectionAttempt', (address: string) => {
    // The port is known once the attempt has begun.
    process.nextTick(() => {
      if (socket.destroyed || socket.localPort === undefined) return
      const key = `${address} ${socket.localPort}`
      dialled.add(key)
      socket.once('close', () => dialled.delete(key))
    })
  })
}
