import type { Socket } from 'node:net'
import { deferRead, spendShare } from '../base/event-loop.ts'

/**
 * Passes the bytes of a connection to undici no faster than responses have time in one iteration of
 * the event loop.
 */
export function paceReads(socket: Socket): void {
  const waiting: (Buffer | null)[] = []
  const push = socket.push.bind(socket)
  const pass = (chunk: Buffer | null): boolean => {
    if (chunk === null) return push(chunk)
    const begun = performance.now()
    const more = push(chunk)
    // undici parses in the next tick.
    process.nextTick(spendSince, begun)
    return more
  }
  const passWaiting = (): void => {
    for (const chunk of waiting.splice(0)) pass(chunk)
  }
  socket.push = (chunk: Buffer | null): boolean => {
    const isNext = waiting.length === 0
    if (isNext && (chunk === null || !deferRead(chunk.length, passWaiting))) return pass(chunk)
    // The socket is not read until these bytes are passed on; TLS may have decrypted more.
    waiting.push(chunk)
    return false
  }
}

function spendSince(begun: number): void {
  spendShare(performance.now() - begun)
}
