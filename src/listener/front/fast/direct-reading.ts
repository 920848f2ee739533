import type { Socket } from 'node:net'
import { Readable } from 'node:stream'

/**
 * Passes arriving bytes to `take` instead of the socket's stream, while the stream's buffer is empty: the
 * stream would schedule a tick for each piece. Bytes that reach the stream are emitted as `data`.
 */
export function readDirectly(socket: Socket, take: (chunk: Buffer) => void): void {
  socket.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (chunk === null || socket.readableFlowing !== true || socket.readableLength > 0) {
      return Readable.prototype.push.call(socket, chunk, encoding)
    }
    take(chunk)
    return true
  }
}

/** Restores reading through the stream. */
export function stopReadingDirectly(socket: Socket): void {
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean =>
    Readable.prototype.push.call(socket, chunk, encoding)
}
