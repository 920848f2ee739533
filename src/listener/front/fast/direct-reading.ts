import type { Socket } from 'node:net'
import { Readable } from 'node:stream'

/**
 * Takes what arrives on a socket as it is pushed into its stream, as long as nothing waits there to be
 * read. Behind that the stream would schedule a tick for each piece, only to ask for what comes anyway.
 * What the stream gets comes as `data`, as without this.
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

/** Lets a socket be read as any other again. */
export function readUsually(socket: Socket): void {
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean =>
    Readable.prototype.push.call(socket, chunk, encoding)
}
