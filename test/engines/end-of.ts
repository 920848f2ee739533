import type { Socket } from 'node:net'
import type { End } from './observed.ts'

/**
 * How a connection ended that was read to its end. A reset that comes in together with bytes is told as an
 * end by libuv; the address of who sent it is gone by then, and is there after an end. It must not have been
 * asked for before, as the socket keeps it.
 */
export function endOf(socket: Socket): End {
  return socket.remoteAddress === undefined ? 'rst' : 'fin'
}
