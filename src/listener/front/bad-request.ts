import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ERROR_HEADER, refusalBody, type Refusal } from '../rejection.ts'

/** The response that node:http is writing on a socket, if any. */
interface Busy {
  readonly _httpMessage?: ServerResponse | null
}

/** Answers on a connection whose bytes never became a request, and ends it. */
export function rejectBadRequest(socket: Socket, refusal: Refusal): void {
  const busy = (socket as Busy)._httpMessage
  if (!socket.writable || (busy?.headersSent ?? false)) {
    // Bytes in the middle of another response would be read as part of it.
    socket.destroy()
    return
  }
  const body = refusalBody(refusal, [], false)
  const head =
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n` +
    'Connection: close\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${body.byteLength}\r\n${ERROR_HEADER}: ${refusal.reason}\r\n\r\n`
  socket.write(head, 'latin1')
  socket.write(body)
  socket.destroySoon()
}
