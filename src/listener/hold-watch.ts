import type { Socket } from 'node:net'

/** Bytes in a millisecond: a body that comes at this pace may take longer than the time for it. */
const FAIR_PACE = 1024 / 1000

/** Returns whether bytes are not whole in time, and do not come at a fair pace either. */
function comesTooSlowly(held: number, size: number, timeout: number): boolean {
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

/** Bounds how long what an upstream sends is held until it is whole. */
export class HoldTimer {
  readonly #timeout: number
  readonly #size: () => number
  readonly #late: () => void
  readonly #since: number
  #timer: NodeJS.Timeout

  /**
   * Calls `late` when as many bytes as `size` returns are too few for the time, or none come. Of the
   * time, so many milliseconds were spent `before`.
   */
  constructor(timeout: number, size: () => number, late: () => void, before = 0) {
    this.#since = performance.now() - before
    this.#timeout = timeout
    this.#size = size
    this.#late = late
    this.#timer = this.#after(timeout - before)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), ms + 1).unref()
  }

  #look(): void {
    const held = performance.now() - this.#since
    const size = this.#size()
    if (comesTooSlowly(held, size, this.#timeout)) this.#late()
    else this.#timer = this.#after(Math.max(this.#timeout, size / FAIR_PACE) - held)
  }
}
