import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ERROR_HEADER, rejectionBody, type Rejection } from '../rejection.ts'

/** Sends an error on a connection without a valid request, and ends the connection. */
export function rejectBadRequest(socket: Socket, rejection: Rejection): void {
  // The response that node:http is writing.
  const busy = (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage
  if (!socket.writable || (busy?.headersSent ?? false)) {
    // Bytes in the middle of another response would be read as part of it.
    socket.destroy()
    return
  }
  const body = rejectionBody(rejection, [], false)
  const head =
    `HTTP/1.1 ${rejection.status} ${STATUS_CODES[rejection.status] ?? ''}\r\n` +
    'Connection: close\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${body.byteLength}\r\n${ERROR_HEADER}: ${rejection.reason}\r\n\r\n`
  socket.write(head, 'latin1')
  socket.write(body)
  socket.destroySoon()
}
