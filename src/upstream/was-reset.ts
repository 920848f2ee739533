import type { Socket } from 'node:net'

/**
 * Returns true when a TCP connection that reports its end was reset: libuv reports a reset that
 * arrives together with bytes as an end. Only a reset connection has no other side any more.
 */
export function wasReset(socket: Socket): boolean {
  return socket.localAddress !== undefined && socket.remoteAddress === undefined
}
