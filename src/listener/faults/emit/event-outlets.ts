import { adjoined } from '../../../base/bytes.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import { markerComments, withMarkers } from './injected-response.ts'
import { Valve } from '../../../base/valve.ts'
import { Fifo } from '../../../base/fifo.ts'
import type { ResponseSink } from '../../../http/transfer.ts'
import { keepCopied } from '../../../mcp/read-messages.ts'
import type { SseFramer } from '../../../mcp/sse-framer.ts'

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

interface Waiting {
  readonly act: () => void
  readonly acted: () => void
}

/**
 * Writes a stream of events: the bytes of the upstream unchanged, and Squall's events between two
 * of the upstream's.
 */
abstract class EventOutlet extends Valve {
  readonly #sink: Pick<ResponseSink, 'data'>
  readonly #waiting = new Fifo<Waiting>()
  /** The last bytes, which may be sent together with the next. */
  #last: Uint8Array | undefined
  #isJoining = false

  constructor(sink: Pick<ResponseSink, 'data'>) {
    super()
    this.#sink = sink
  }

  /** True while events of Squall wait for the end of an event of the upstream. */
  get waits(): boolean {
    return this.#waiting.length > 0
  }

  /** True between two events, as far as the writes are flushed. */
  protected abstract get isBetween(): boolean

  write(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const both = this.#last === undefined ? undefined : adjoined(this.#last, bytes)
    if (both === undefined) this.flushWrites()
    this.#last = both ?? bytes
    if (!this.#isJoining) this.flushWrites()
  }

  /** Joins the writes of `work` whose bytes are adjacent. */
  joined(work: () => void): void {
    this.#isJoining = true
    try {
      work()
    } finally {
      this.#isJoining = false
      this.flushWrites()
    }
  }

  /** Runs `act` between two events, now or later. The promise resolves when more may follow. */
  between(act: () => void): Promise<void> | undefined {
    // The position depends on the written bytes.
    this.flushWrites()
    if (!this.waits && this.isBetween) {
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
    if (this.waits) this.flushWrites()
    while (this.waits) {
      if (!hasEnded && !this.isBetween) return
      const { act, acted } = this.#waiting.shift()!
      act()
      acted()
    }
  }

  /** Drops the waiting actions after the client has left. */
  drop(): void {
    this.blocked = false
    for (const { acted } of this.#waiting.takeAll()) acted()
    this.open()
  }

  protected flushWrites(): void {
    const last = this.#last
    this.#last = undefined
    if (last !== undefined && !this.#sink.data(last)) this.blocked = true
  }
}

/** The bytes beyond which a held head is sent: the client sees that the upstream is alive. */
const MAX_HELD = 16 * 1024

/** Sends the head and events of a response; holds the head while a fault may still replace it. */
export class SseOutlet extends EventOutlet {
  released = false
  readonly #outlet: Pick<ResponseSink, 'head' | 'data'>
  readonly #head: ResponseHead
  #heldSize = 0
  #headMarkers: string[] = []
  #inPiece = false
  readonly #timer: NodeJS.Timeout | undefined

  /** Holds the head for at most `hold` milliseconds; 0 sends it at once. */
  constructor(outlet: Pick<ResponseSink, 'head' | 'data'>, head: ResponseHead, hold: number) {
    super(outlet)
    this.#outlet = outlet
    this.#head = head
    if (hold === 0) this.release()
    else this.#timer = setTimeout(() => this.release(), hold).unref()
  }

  protected override get isBetween(): boolean {
    return this.released && !this.#inPiece
  }

  /** The response itself waits for a slow client. */
  override ready(): undefined {
    return undefined
  }

  /** Sends whole events with the markers of their faults, which a held head carries. */
  send(bytes: Uint8Array, markers: readonly string[] = []): void {
    if (this.released) {
      for (const each of withComments(bytes, markers)) {
        if (this.#inPiece) void this.between(() => this.write(each))
        else this.write(each)
      }
      return
    }
    this.#headMarkers.push(...markers)
    this.#heldSize += bytes.length
    void this.between(() => this.write(bytes))
    if (this.#heldSize > MAX_HELD) this.release()
  }

  /** Sends a part of an event; other events wait until the part that `ends` it. */
  piece(bytes: Uint8Array, ends: boolean): void {
    this.release()
    this.write(bytes)
    this.#inPiece = !ends
    if (ends) this.flush()
  }

  /** Holds the head for any time: a status will replace it. */
  holdOn(): void {
    clearTimeout(this.#timer)
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
    this.flush()
  }
}

/**
 * Returns an event behind the comments of its markers: in one piece, unless a copy of it would be
 * large.
 */
export function withComments(bytes: Uint8Array, markers: readonly string[]): readonly Uint8Array[] {
  if (markers.length === 0) return [bytes]
  // A byte order mark begins a stream, or is a part of the first name.
  const start = hasByteOrderMark(bytes) ? 3 : 0
  const parts = [bytes.subarray(0, start), markerComments(markers), bytes.subarray(start)]
  if (bytes.length > MAX_HELD) return parts
  const copy = Buffer.concat(parts)
  keepCopied(bytes, copy)
  return [copy]
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The bound on Squall's bytes that wait for the client, or for the end of an event. */
const MOST_WAITING = 64 * 1024

/** Sends a stream that a client opened by GET, from wherever the client is in it. */
export class PushOutlet extends EventOutlet {
  readonly #position: PushPosition
  #offered = 0

  constructor(sink: ResponseSink, position: PushPosition) {
    super(sink)
    this.#position = position
  }

  protected override get isBetween(): boolean {
    return this.#position.between
  }

  /**
   * Sends whole events that are not from the stream, after `begin`; returns false when there is no
   * room.
   */
  offer(bytes: Uint8Array, begin: () => void): boolean {
    this.flushWrites()
    const waits = this.blocked || this.waits || !this.isBetween
    if (!waits) this.#offered = 0
    else if (this.#offered + bytes.length > MOST_WAITING) return false
    else this.#offered += bytes.length
    begin()
    void this.between(() => this.write(bytes))
    return true
  }
}
