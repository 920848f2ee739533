import type { Socket } from 'node:net'

/** Handles errors of the transfer on a connection. */
export interface SocketOwner {
  /** Ends the transfer after undici threw at the end of the connection. */
  threw(): void
}

/**
 * Holds back the end of a connection while undici is paused. undici's parser asserts that the
 * connection does not end meanwhile, and throws from the socket's event, where nothing catches the
 * error.
 */
export class SocketGuard {
  owner: SocketOwner | undefined
  #paused = false
  #heldEnd: (() => void) | undefined

  attach(socket: Socket): void {
    this.#paused = false
    this.#heldEnd = undefined
    const emit = socket.emit.bind(socket) as (event: string | symbol, value?: unknown) => boolean
    // Socket events carry at most one value; a rest parameter would allocate an array for each
    // event.
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

  pause(): void {
    this.#paused = true
  }

  /** Emits an end that was held back. */
  resume(): void {
    this.#paused = false
    const held = this.#heldEnd
    this.#heldEnd = undefined
    held?.()
  }
}
