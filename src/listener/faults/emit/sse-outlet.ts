import type { ResponseHead } from '../../../http/headers.ts'
import { markComments, withMarks } from './fault-marker.ts'
import type { InjectedResponse } from './injected-response.ts'
import { JoinedWrites } from './joined-writes.ts'
import type { Outlet } from './outlet.ts'

/** A held head does not hold back more than this: the client is to see that the app is alive. */
const MAX_HELD = 16 * 1024

/** Sends a stream's head and events, the head late where a fault may still want another one. */
export class SseOutlet {
  released = false
  readonly #outlet: Outlet
  readonly #head: ResponseHead
  /** Waits for the head, or for the end of a large event that is under way. */
  #held: Uint8Array[] = []
  #heldSize = 0
  #headMarks: string[] = []
  #inPiece = false
  #timer: NodeJS.Timeout | undefined
  readonly #writes: JoinedWrites

  /** Holds the head for so many milliseconds at most; 0 where it is not held. */
  constructor(outlet: Outlet, head: ResponseHead, hold: number) {
    this.#outlet = outlet
    this.#writes = new JoinedWrites((bytes) => void outlet.data(bytes))
    this.#head = head
    if (hold === 0) this.release()
    else this.#timer = setTimeout(() => this.release(), hold).unref()
  }

  /** Sends in one write the pieces that `work` sends together. */
  joined(work: () => void): void {
    this.#writes.during(work)
  }

  /** Sends whole events, with the marks of what was done to them. */
  send(bytes: Uint8Array, markers: readonly string[] = []): void {
    if (!this.released) {
      this.#headMarks.push(...markers)
      this.#hold(bytes)
      if (this.#heldSize > MAX_HELD) this.release()
      return
    }
    const marked = markers.length > 0 ? Buffer.concat([markComments(markers), bytes]) : bytes
    if (this.#inPiece) this.#hold(marked)
    else this.#writes.write(marked)
  }

  /** Sends a part of an event; nothing else goes between it and the next one until it `ends`. */
  piece(bytes: Uint8Array, ends: boolean): void {
    this.release()
    this.#writes.write(bytes)
    this.#inPiece = !ends
    if (ends) this.#flush()
  }

  /** The head is not held any more. */
  stop(): void {
    this.released = true
    clearTimeout(this.#timer)
  }

  /** Lets go of the head and what waits behind it. */
  release(): void {
    if (this.released) return
    this.stop()
    const { headers } = this.#head
    this.#outlet.head({ ...this.#head, headers: withMarks(headers, this.#headMarks) })
    this.#flush()
  }

  /** Sends another response in the place of all that is held. */
  replace(response: InjectedResponse): void {
    this.stop()
    this.#held = []
    this.#writes.flush()
    this.#outlet.bypass()
    this.#outlet.head(response.head)
    this.#outlet.data(response.bytes)
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes)
    this.#heldSize += bytes.length
  }

  #flush(): void {
    const held = this.#held
    this.#held = []
    this.#heldSize = 0
    for (const bytes of held) this.#writes.write(bytes)
  }
}
