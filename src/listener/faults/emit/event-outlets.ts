import { adjoined } from '../../../base/bytes.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import { type InjectedResponse, markerComments, withMarkers } from './injected-response.ts'
import { Valve } from './valve.ts'
import { Fifo } from '../../../base/fifo.ts'
import type { ResponseSink } from '../../../http/transfer.ts'
import { keepCopied } from '../../../mcp/read-messages.ts'
import type { SseFramer } from '../../../mcp/sse-framer.ts'

/** Joins adjacent bytes into one write. */
export class JoinedWrites {
  readonly #write: (bytes: Uint8Array) => void
  #held: Uint8Array | undefined
  #joining = false

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write
  }

  /** Runs `work` and joins its writes; other writes are not delayed. */
  during(work: () => void): void {
    this.#joining = true
    try {
      work()
    } finally {
      this.#joining = false
      this.flush()
    }
  }

  write(bytes: Uint8Array): void {
    const both = this.#held === undefined ? undefined : adjoined(this.#held, bytes)
    if (both === undefined) this.flush()
    this.#held = both ?? bytes
    if (!this.#joining) this.flush()
  }

  /** Writes the held bytes. */
  flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#write(held)
  }
}

/** The bytes beyond which a held head is sent: the client sees that the upstream is alive. */
const MAX_HELD = 16 * 1024

/** Sends a response to the client. */
interface ResponseOutlet {
  head(head: ResponseHead): void
  data(bytes: Uint8Array): boolean
  /** Bypasses the faults that act on the response as HTTP. Only before the head. */
  bypass(): void
}

/** Sends the head and events of a stream; holds the head while a fault may still replace it. */
export class SseOutlet {
  released = false
  readonly #outlet: ResponseOutlet
  readonly #head: ResponseHead
  /** The bytes that wait for the head, or for the end of a large event. */
  #held: Uint8Array[] = []
  #heldSize = 0
  #headMarkers: string[] = []
  #inPiece = false
  #timer: NodeJS.Timeout | undefined
  readonly #writes: JoinedWrites

  /** Holds the head for at most `hold` milliseconds; 0 sends it at once. */
  constructor(outlet: ResponseOutlet, head: ResponseHead, hold: number) {
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
    for (const each of withComments(bytes, markers)) {
      if (this.#inPiece) this.#hold(each)
      else this.#writes.write(each)
    }
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
    this.#outlet.head(withMarkers(this.#head, this.#headMarkers))
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

/**
 * Returns an event behind the comments of its markers: in one piece, unless a copy of it would be
 * large.
 */
export function withComments(bytes: Uint8Array, markers: readonly string[]): readonly Uint8Array[] {
  if (markers.length === 0) return [bytes]
  const both = [markerComments(markers), bytes]
  if (bytes.length > MAX_HELD) return both
  const copy = Buffer.concat(both)
  keepCopied(bytes, copy)
  return [copy]
}

/** Tracks the client's position in a stream. */
export interface PushPosition {
  /** True between two events. */
  readonly between: boolean
  /**
   * Returns a framer that continues at this position; the rest of an incomplete event is emitted in
   * pieces.
   */
  fork(): SseFramer
}

/** The bound on Squall's bytes that wait for the client, or for the end of an event. */
const MOST_WAITING = 64 * 1024

interface Waiting {
  readonly act: () => void
  readonly acted: () => void
}

/**
 * Sends a stream: the upstream's bytes unchanged, and Squall's events between two of the
 * upstream's.
 */
export class PushOutlet extends Valve {
  readonly #position: PushPosition
  readonly #writes: JoinedWrites
  #offered = 0
  readonly #waiting = new Fifo<Waiting>()

  constructor(sink: ResponseSink, position: PushPosition) {
    super()
    this.#position = position
    this.#writes = new JoinedWrites((bytes) => {
      if (!sink.data(bytes)) this.blocked = true
    })
  }

  /** True while events of Squall wait for the end of an event of the upstream. */
  get waits(): boolean {
    return this.#waiting.length > 0
  }

  write(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#writes.write(bytes)
  }

  /** Joins the writes of `work`. */
  joined(work: () => void): void {
    this.#writes.during(work)
  }

  /** Sends whole events that are not from the stream; returns false when there is no room. */
  offer(bytes: Uint8Array): boolean {
    this.#writes.flush()
    const waits = this.blocked || this.waits || !this.#position.between
    if (waits && this.#offered + bytes.length > MOST_WAITING) return false
    if (waits) this.#offered += bytes.length
    void this.between(() => this.write(bytes))
    return true
  }

  /** Runs `act` between two events, now or later. The promise resolves when more may follow. */
  between(act: () => void): Promise<void> | undefined {
    // The position depends on the written bytes.
    this.#writes.flush()
    if (!this.waits && this.#position.between) {
      act()
      return this.ready()
    }
    return new Promise((resolve) => {
      this.#waiting.push({ act, acted: () => resolve(this.ready()) })
    })
  }

  /**
   * Runs the waiting actions as far as possible; all of them after the end of the upstream's
   * stream, even inside an incomplete event.
   */
  flush(hasEnded = false): void {
    if (this.waits) this.#writes.flush()
    while (this.waits) {
      if (!hasEnded && !this.#position.between) break
      const { act, acted } = this.#waiting.shift()!
      act()
      acted()
    }
    this.#forgive()
  }

  override open(): void {
    super.open()
    this.#forgive()
  }

  /** Drops the waiting actions after the client has left. */
  drop(): void {
    this.blocked = false
    for (const { acted } of this.#waiting.takeAll()) acted()
    super.open()
  }

  #forgive(): void {
    if (!this.blocked && !this.waits) this.#offered = 0
  }
}
