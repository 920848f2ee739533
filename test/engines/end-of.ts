import type { Socket } from 'node:net'
import type { End } from './observed.ts'

/**
 * Returns the end of a connection that was read to its end. libuv reports a reset that arrives
 * together with bytes as an end, but the remote address is gone after a reset and still there after
 * an end. The address must not have been read before, as the socket caches it.
 */
export function endOf(socket: Socket): End {
  return socket.remoteAddress === undefined ? 'rst' : 'fin'
}
