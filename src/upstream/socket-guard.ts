import type { Socket } from 'node:net'

/** Whoever has a request on the connection. */
export interface SocketOwner {
  /** undici threw at the end of the connection: the transfer on it must end by other means. */
  threw(): void
}

/**
 * Keeps a connection's end away from undici while undici is paused. Its parser asserts that nobody
 * ends it then, and throws where nothing catches: out of the socket's own event.
 */
export class SocketGuard {
  owner: SocketOwner | undefined
  #paused = false
  #heldEnd: (() => void) | undefined

  attach(socket: Socket): void {
    this.#paused = false
    this.#heldEnd = undefined
    const emit = socket.emit.bind(socket) as (event: string | symbol, value?: unknown) => boolean
    // No event of a socket carries more than one value, and a rest parameter is an array each time.
    const guarded = (event: string | symbol, value?: unknown): boolean => {
      if (event !== 'end' && event !== 'error' && event !== 'close') return emit(event, value)
      if (event === 'end' && this.#paused) {
        this.#heldEnd = () => void guarded('end')
        return true
      }
      try {
        return emit(event, value)
      } catch {
        this.owner?.threw()
        return true
      }
    }
    socket.emit = guarded
  }

  /** undici waits for `resume`. */
  pause(): void {
    this.#paused = true
  }

  /** undici goes on: an end that was held back comes now. */
  resume(): void {
    this.#paused = false
    const held = this.#heldEnd
    this.#heldEnd = undefined
    held?.()
  }
}
