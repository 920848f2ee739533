import type { Socket } from 'node:net'

/** Bytes in a millisecond: a body that comes at this pace may take longer than the time for it. */
const FAIR_PACE = 1024 / 1000

/** Returns whether bytes are not whole in time, and do not come at a fair pace either. */
export function comesTooSlowly(held: number, size: number, timeout: number): boolean {
  return held > timeout && size < held * FAIR_PACE
}

/** Watches how a body arrives that is held until it is whole. */
export class HoldWatch {
  #since = -1
  #before = 0

  /** Returns whether the body is not there in time, and does not come at a fair pace either. */
  tooLong(socket: Socket, now: number, timeout: number): boolean {
    // Time in which nothing is read here is not the client's.
    if (this.#since < 0 || socket.isPaused()) {
      this.#since = now
      this.#before = socket.bytesRead
      return false
    }
    return comesTooSlowly(now - this.#since, socket.bytesRead - this.#before, timeout)
  }
}
