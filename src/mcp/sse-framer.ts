import { asBuffer } from '../base/bytes.ts'
import { isTooComplex, SMALL_JSON } from '../base/json/json-bounds.ts'
import { ENDLESS, type Room } from '../base/room.ts'
import { NO_FIELDS, parseSseFields } from './sse-fields.ts'
import type { SseFields } from './sse-fields.ts'

/** One event of a stream, or a piece of one that is too large to hold. */
export interface SseFrame extends SseFields {
  /** Every byte of the event, its closing blank line included. */
  readonly raw: Uint8Array
  /** True for what is passed on and not read: pieces of an event above the limit, and too complex ones. */
  readonly oversized: boolean
  /** False for a piece after which the same event goes on. */
  readonly ends: boolean
}

/** Takes frames in the order of the stream. */
export type EmitFrame = (frame: SseFrame) => void

const LF = 10
const CR = 13
const COLON = 0x3a
const NOTHING = Buffer.alloc(0)
/** An event of more lines is not read. */
const MAX_LINES = 10_000

/**
 * Cuts an event stream into events without changing a byte: all `raw` in order, and what `end`
 * returns, are the input. An event leaves with its blank line and waits for nothing more: when that
 * line ends in a CR at the end of a chunk and the next chunk starts with the LF that belongs to it,
 * this LF follows as a frame of its own that says nothing. Comments and blank lines that come together
 * are one such frame, however many they are.
 */
export class SseFramer {
  readonly #limit: number
  readonly #room: Room
  /** The start of an event whose end has not been seen; its first `#size` bytes count. */
  #held: Buffer = NOTHING
  #size = 0
  /** Nothing of the current line was seen yet. */
  #lineEmpty = true
  /** The last byte was a CR that ended a line, so that an LF right behind it belongs to it. */
  #afterCr = false
  /** Nothing of the current event was seen yet. */
  #fresh = true
  /** The current event has more than comments. */
  #says = false
  #oversized = false
  #first = true

  /**
   * Events of more than `limit` bytes, or for which there is no room, are passed on in pieces and not
   * read. Whoever gives room tells the `end`.
   */
  constructor(limit: number, room = ENDLESS) {
    this.#limit = limit
    this.#room = room
  }

  /** How many bytes are held of an event that is not whole. */
  get held(): number {
    return this.#size
  }

  /** True where an event has ended and the next one has not begun. */
  get between(): boolean {
    return this.#fresh
  }

  /**
   * A framer that goes on where this one is. Of an event that is under way it has nothing: the rest
   * leaves it in pieces, like an event above the limit.
   */
  follow(): SseFramer {
    const next = new SseFramer(this.#limit, this.#room)
    next.#lineEmpty = this.#lineEmpty
    next.#afterCr = this.#afterCr
    next.#fresh = this.#fresh
    next.#says = this.#says
    next.#oversized = !this.#fresh
    next.#first = this.#first
    return next
  }

  /**
   * Whether bytes that come next are whole events and no more, told by how they end. Then this framer
   * need not see them, and is ready for what follows. Never for the first event, which may begin with
   * a mark of its own.
   */
  passes(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#fresh || this.#afterCr || this.#first) return false
    const length = to - from
    if (length < 3 || length > this.#limit || bytes[to - 1] !== LF) return false
    return bytes[to - 2] === LF || (bytes[to - 2] === CR && bytes[to - 3] === LF)
  }

  /** Takes the next bytes; emits every event that they complete. */
  push(chunk: Uint8Array, emit: EmitFrame): void {
    const bytes = asBuffer(chunk)
    const length = bytes.length
    if (length === 0) return
    let begin = 0
    /** Behind the comments and blank lines that begin there. */
    let quiet = 0
    let at = 0
    let lf = -1
    let cr = -1
    if (this.#afterCr) {
      this.#afterCr = false
      if (bytes[0] === LF) {
        at = 1
        if (this.#fresh) {
          emit(new Frame(bytes.subarray(0, 1), false, true, NO_FIELDS))
          begin = 1
          quiet = 1
        }
      }
    }
    while (at < length) {
      if (lf < at) lf = positionOf(bytes, LF, at)
      if (cr < at) cr = positionOf(bytes, CR, at)
      const eol = lf < cr ? lf : cr
      if (eol > at) {
        if (this.#lineEmpty && bytes[at] !== COLON) this.#says = true
        this.#lineEmpty = false
      }
      if (eol === length) break
      at = eol + 1
      if (eol === cr) {
        if (at === length) this.#afterCr = true
        else if (bytes[at] === LF) at++
      }
      if (this.#lineEmpty) {
        const apart = this.#says || this.#size > 0 || this.#oversized || at - quiet > this.#limit
        if (begin < quiet && (apart || at - begin > this.#limit)) {
          this.#pass(bytes.subarray(begin, quiet), emit)
          begin = quiet
        }
        if (apart) {
          this.#complete(bytes.subarray(quiet, at), emit)
          begin = at
        }
        quiet = at
        this.#says = false
      }
      this.#lineEmpty = true
    }
    if (begin < quiet) this.#pass(bytes.subarray(begin, quiet), emit)
    if (quiet < length) this.#keep(bytes.subarray(quiet), emit)
  }

  /** The stream is over: returns what is left of an event that was never completed. */
  end(): Uint8Array {
    return this.#taken()
  }

  /** Passes on what is held of an event that is not whole; the rest of it follows in pieces. */
  letGo(emit: EmitFrame): void {
    this.#oversized ||= this.#size > 0
    this.#release(emit)
  }

  #pass(quiet: Buffer, emit: EmitFrame): void {
    this.#first = false
    this.#fresh = true
    emit(new Frame(quiet, false, true, NO_FIELDS))
  }

  #complete(part: Buffer, emit: EmitFrame): void {
    const first = this.#first
    this.#first = false
    this.#fresh = true
    const size = this.#size + part.length
    if (this.#oversized || size > this.#limit) {
      this.#release(emit)
      this.#oversized = false
      emit(new Frame(part, true, true, NO_FIELDS))
    } else if (this.#size === 0) {
      emit(new Frame(part, false, true, undefined, first))
    } else if (this.#append(part)) {
      emit(new Frame(this.#taken(), false, true, undefined, first))
    } else {
      this.#release(emit)
      emit(new Frame(part, true, true, NO_FIELDS))
    }
  }

  #keep(part: Buffer, emit: EmitFrame): void {
    this.#fresh = false
    const isTooLarge = this.#oversized || this.#size + part.length > this.#limit
    if (isTooLarge || !this.#append(part)) {
      this.#release(emit)
      this.#oversized = true
      emit(new Frame(part, true, false, NO_FIELDS))
    }
  }

  /** Lets go of what was held of an event that has turned out too large. */
  #release(emit: EmitFrame): void {
    if (this.#size === 0) return
    emit(new Frame(this.#taken(), true, false, NO_FIELDS))
  }

  /** Takes the bytes that were held. */
  #taken(): Buffer {
    const taken = this.#held.subarray(0, this.#size)
    this.#room.give(this.#held.length)
    this.#held = NOTHING
    this.#size = 0
    return taken
  }

  /**
   * Copies, so that a byte of a large chunk does not keep all of it; doubles, so that this stays
   * linear. False when there is no room.
   */
  #append(part: Buffer): boolean {
    const size = this.#size + part.length
    if (size > this.#held.length) {
      const length = Math.max(size, Math.min(size * 2, this.#limit))
      if (!this.#room.take(length - this.#held.length)) return false
      const grown = Buffer.allocUnsafe(length)
      this.#held.copy(grown, 0, 0, this.#size)
      this.#held = grown
    }
    part.copy(this.#held, this.#size)
    this.#size = size
    return true
  }
}

/** Reads its fields when they are first asked for: most frames only pass. */
class Frame implements SseFrame {
  readonly raw: Buffer
  readonly ends: boolean
  #oversized: boolean | undefined
  #fields: SseFields | undefined
  readonly #first: boolean

  constructor(
    raw: Buffer,
    oversized: boolean,
    ends: boolean,
    fields: SseFields | undefined,
    first = false,
  ) {
    this.raw = raw
    this.#oversized = oversized || (raw.length > SMALL_JSON ? undefined : false)
    this.ends = ends
    this.#fields = fields
    this.#first = first
  }

  get oversized(): boolean {
    return (this.#oversized ??= hasManyLines(this.raw) || isTooComplex(this.#read().data ?? ''))
  }

  get event(): string | undefined {
    return this.#read().event
  }

  get id(): string | undefined {
    return this.#read().id
  }

  get retry(): number | undefined {
    return this.#read().retry
  }

  get data(): string | undefined {
    return this.#read().data
  }

  #read(): SseFields {
    return (this.#fields ??= parseSseFields(this.raw, this.#first))
  }
}

function hasManyLines(bytes: Buffer): boolean {
  let lines = 0
  for (const end of [LF, CR]) {
    for (let at = bytes.indexOf(end); at >= 0; at = bytes.indexOf(end, at + 1)) {
      if (++lines > MAX_LINES) return true
    }
  }
  return false
}

function positionOf(bytes: Buffer, byte: number, from: number): number {
  if (bytes[from] === byte) return from
  const at = bytes.indexOf(byte, from)
  return at < 0 ? bytes.length : at
}
