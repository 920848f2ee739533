import type { ResponseHead } from '../../../http/headers.ts'
import { markerComments, withMarkers } from './fault-marker.ts'
import type { InjectedResponse } from './injected-response.ts'
import { JoinedWrites } from './joined-writes.ts'
import type { Outlet } from './outlet.ts'

/** The bytes beyond which a held head is sent, so that the client sees that the app is alive. */
const MAX_HELD = 16 * 1024

/** Sends the head and events of a stream; holds the head while a fault may still replace it. */
export class SseOutlet {
  released = false
  readonly #outlet: Outlet
  readonly #head: ResponseHead
  /** The bytes that wait for the head, or for the end of a large event. */
  #held: Uint8Array[] = []
  #heldSize = 0
  #headMarkers: string[] = []
  #inPiece = false
  #timer: NodeJS.Timeout | undefined
  readonly #writes: JoinedWrites

  /** Holds the head for at most `hold` milliseconds; 0 sends it at once. */
  constructor(outlet: Outlet, head: ResponseHead, hold: number) {
    this.#outlet = outlet
    this.#writes = new JoinedWrites((bytes) => void outlet.data(bytes))
    this.#head = head
    if (hold === 0) this.release()
    else this.#timer = setTimeout(() => this.release(), hold).unref()
  }

  /** Joins the writes of `work`. */
  joined(work: () => void): void {
    this.#writes.during(work)
  }

  /** Sends whole events with the markers of their faults. */
  send(bytes: Uint8Array, markers: readonly string[] = []): void {
    if (!this.released) {
      this.#headMarkers.push(...markers)
      this.#hold(bytes)
      if (this.#heldSize > MAX_HELD) this.release()
      return
    }
    const marked = markers.length > 0 ? Buffer.concat([markerComments(markers), bytes]) : bytes
    if (this.#inPiece) this.#hold(marked)
    else this.#writes.write(marked)
  }

  /** Sends a part of an event; other events wait until the part that `ends` it. */
  piece(bytes: Uint8Array, ends: boolean): void {
    this.release()
    this.#writes.write(bytes)
    this.#inPiece = !ends
    if (ends) this.#flush()
  }

  /** Stops holding the head. */
  stop(): void {
    this.released = true
    clearTimeout(this.#timer)
  }

  /** Sends the head and the bytes that wait for it. */
  release(): void {
    if (this.released) return
    this.stop()
    const { headers } = this.#head
    this.#outlet.head({ ...this.#head, headers: withMarkers(headers, this.#headMarkers) })
    this.#flush()
  }

  /** Sends another response instead of the held one. */
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
