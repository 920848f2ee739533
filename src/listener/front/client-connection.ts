import type { Socket } from 'node:net'
import { Chain } from '../../base/linked-list.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { OpenExchange } from './open-exchange.ts'
import type { FastClientConnection } from './fast/fast-connection.ts'

/** Requests that are open on one connection, before no more are read from it. */
export const MOST_OPEN = 100

/**
 * A client's connection and the exchanges that are open on it. Not a Set of them: the tables that a
 * Set discards keep exchanges that are long over from being collected early.
 */
export class ClientConnection extends Chain<OpenExchange> {
  readonly memory: MemoryBudget
  /** Nothing that still arrives here is read as a request. */
  closing = false
  /** It came when the bound on connections was met, and is turned away as long as it is. */
  surplus = false
  /** The request that came last, where it came behind others that were not answered; it may be over. */
  last: OpenExchange | undefined
  /** Who reads it, as long as that is not node:http. */
  fast: FastClientConnection | undefined
  constructor(memory: MemoryBudget) {
    super()
    this.memory = memory
  }

  /** Requests that came when none was read any more. */
  #ignored = 0
  /** Lets node:http read on, where it was made to wait. */
  #goOn: (() => void) | undefined

  /** Takes no part of a request that came too late; of a client that sends on and on nothing more is read. */
  ignore(socket: Socket): void {
    if (++this.#ignored > MOST_OPEN) this.#hold(socket)
  }

  /** Makes node:http wait while many requests are open: it would read on, and hold them all. */
  boundOpen(socket: Socket): void {
    if (this.size >= MOST_OPEN) this.#hold(socket)
  }

  override remove(link: OpenExchange): void {
    super.remove(link)
    if (this.#goOn === undefined || this.size >= MOST_OPEN || this.#ignored > MOST_OPEN) return
    this.#goOn()
    this.#goOn = undefined
  }

  #hold(socket: Socket): void {
    if (this.#goOn !== undefined) return
    // The reader of the request body resumes the socket.
    const pause = (): void => void socket.pause()
    socket.on('resume', pause)
    pause()
    this.#goOn = () => {
      socket.off('resume', pause)
      socket.resume()
    }
  }
}
