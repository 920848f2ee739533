import type { Socket } from 'node:net'

/**
 * The connections that are open, by both ends: by them a listener for captured connections
 * recognizes those of its own process.
 */
export type DialledSockets = Map<string, Socket>

/** Keeps a connection while it is open. */
export function noteDial(socket: Socket, dialled: DialledSockets): void {
  let key = ''
  const forget = (): void => void (dialled.get(key) === socket && dialled.delete(key))
  // A name with several addresses has an attempt for each of them.
  socket.on('connectionAttempt', (address: string, port: number) => {
    forget()
    // The own port is known once the attempt has begun.
    process.nextTick(() => {
      if (socket.destroyed || socket.localPort === undefined) return
      key = keyOf(address, port, socket.localPort)
      dialled.set(key, socket)
    })
  })
  socket.once('close', forget)
}

/**
 * Returns true for the other end of a connection that is open. False after it has
 * received bytes or an end: another program may get its port before it is closed here.
 */
export function isDialled(
  dialled: DialledSockets,
  address: string,
  port: number,
  from: number | undefined,
): boolean {
  const socket = dialled.get(keyOf(address, port, from))
  return socket !== undefined && socket.bytesRead === 0 && !socket.readableEnded
}

/** Connections to different destinations may have the same own port. */
function keyOf(address: string, port: number, from: number | undefined): string {
  return `${address} ${port} ${from}`
}
