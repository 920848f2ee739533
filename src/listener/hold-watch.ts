import type { Socket } from 'node:net'

/** Bytes per millisecond: a body at this rate may exceed the timeout. */
const LEAST_RATE = 1024 / 1000

/** Returns true when a body has exceeded the timeout and arrives below the least rate. */
function isTooSlow(elapsed: number, size: number, timeout: number): boolean {
  return elapsed > timeout && size < elapsed * LEAST_RATE
}

/** Measures the pauses of a request body, and its rate while it is held until it is complete. */
export class BodyWatch {
  readonly #socket: Socket
  #seenBytes = -1
  #seenAt = 0
  #since = -1
  #before = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Returns the time since bytes arrived, or since Squall last read them (`isUnread`). */
  stalledFor(now: number, isUnread: boolean): number {
    const bytes = this.#socket.bytesRead
    if (bytes !== this.#seenBytes || isUnread || this.#socket.isPaused()) {
      this.#seenBytes = bytes
      this.#seenAt = now
    }
    return now - this.#seenAt
  }

  /** Returns true when the body has exceeded the timeout and arrives below the least rate. */
  tooLong(now: number, timeout: number): boolean {
    const socket = this.#socket
    // Time in which Squall does not read does not count.
    if (this.#since < 0 || socket.isPaused()) {
      this.#since = now
      this.#before = socket.bytesRead
      return false
    }
    return isTooSlow(now - this.#since, socket.bytesRead - this.#before, timeout)
  }
}

/** Limits the time for which a response is held until it is complete. */
export class HoldTimer {
  readonly #timeout: number
  readonly #size: () => number
  readonly #late: () => void
  readonly #since: number
  #timer: NodeJS.Timeout

  /**
   * Calls `late` when the bytes that `size` returns are too few for the elapsed time, of which
   * `before` milliseconds have passed already.
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
    return setTimeout(() => this.#check(), ms + 1).unref()
  }

  #check(): void {
    const elapsed = performance.now() - this.#since
    const size = this.#size()
    if (isTooSlow(elapsed, size, this.#timeout)) this.#late()
    else this.#timer = this.#after(Math.max(this.#timeout, size / LEAST_RATE) - elapsed)
  }
}
