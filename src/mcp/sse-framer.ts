import { asBuffer, positionOf } from '../base/bytes.ts'
import { isTooComplex, SMALL_JSON } from '../base/json/json-bounds.ts'
import { ENDLESS, type ByteBudget } from '../base/byte-budget.ts'
import { outlineOfEvent, type EventOutline } from './event-outline.ts'
import type { ReadMessages } from './read-messages.ts'
import { NO_FIELDS, parseSseFields, type SseFields } from './sse-fields.ts'

/** One event of a stream, or a piece of an event that is too large to buffer. */
export interface SseFrame extends SseFields {
  /** The bytes of the event, with its blank line. */
  readonly raw: Uint8Array
  /** The number of bytes, and the first of them: `raw` may have to be joined. */
  readonly size: number
  readonly firstByte: number | undefined
  /**
   * True for frames that are forwarded unread: pieces of an event above the limit, and too complex
   * events.
   */
  readonly oversized: boolean
  /** False for a piece that more of the same event follows. */
  readonly ends: boolean
  /** The message of a large event without its large members; undefined where a parser reads it. */
  readonly outline?: ReadMessages | undefined
}

/** Receives frames in the order of the stream. */
export type EmitFrame = (frame: SseFrame) => void

const LF = 10
const CR = 13
const COLON = 0x3a
const NOTHING = Buffer.alloc(0)
/** Larger parts of an incomplete event are kept as they arrived, so that nobody may overwrite them. */
export const LARGE_PART = 16 * 1024
/** The most lines of an event that is read. */
const MAX_LINES = 10_000

/**
 * Splits an event stream into events without changing a byte: all `raw` in order, and the bytes
 * that `end` returns, equal the input. An event is emitted with its blank line, without waiting for
 * more: when that line ends in a CR at the end of a chunk and the next chunk starts with its LF,
 * the LF follows as a separate frame without fields. Comments and blank lines that arrive together
 * form one frame without fields.
 */
export class SseFramer {
  readonly #limit: number
  readonly #budget: ByteBudget
  /** The start of an incomplete event: its parts, and the first `#used` bytes behind them. */
  #parts: Buffer[] = []
  #held: Buffer = NOTHING
  #used = 0
  /** The bytes of both, and the memory that they take. */
  #size = 0
  #taken = 0
  /** True at the beginning of a line. */
  #lineEmpty = true
  /** True after a CR that ended a line: a following LF belongs to it. */
  #afterCr = false
  /** True at the beginning of an event. */
  #fresh = true
  /** True when the current event has more than comments. */
  #hasFields = false
  #oversized = false
  #first = true

  /**
   * Events of more than `limit` bytes, or beyond the budget, are forwarded in pieces and not read. A
   * caller that passes `budget` must call `end`.
   */
  constructor(limit: number, budget = ENDLESS) {
    this.#limit = limit
    this.#budget = budget
  }

  /** The buffered bytes of an incomplete event. */
  get held(): number {
    return this.#size
  }

  /** True between two events. */
  get between(): boolean {
    return this.#fresh
  }

  /**
   * Returns a framer that continues at this point. It has nothing of an incomplete event: the rest
   * of that event is emitted in pieces, like an event above the limit.
   */
  fork(): SseFramer {
    const next = new SseFramer(this.#limit, this.#budget)
    next.#lineEmpty = this.#lineEmpty
    next.#afterCr = this.#afterCr
    next.#fresh = this.#fresh
    next.#hasFields = this.#hasFields
    next.#oversized = !this.#fresh
    next.#first = this.#first
    return next
  }

  /**
   * Returns true when the next bytes are whole events, judged by their end. The framer then need
   * not see them. False for the first event, which may begin with a BOM.
   */
  passes(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#fresh || this.#afterCr || this.#first) return false
    const length = to - from
    if (length < 3 || length > this.#limit || bytes[to - 1] !== LF) return false
    return bytes[to - 2] === LF || (bytes[to - 2] === CR && bytes[to - 3] === LF)
  }

  /** Reads the next bytes and emits every completed event. */
  push(chunk: Uint8Array, emit: EmitFrame): void {
    const bytes = asBuffer(chunk)
    const length = bytes.length
    if (length === 0) return
    let at = this.#afterCr && bytes[0] === LF ? 1 : 0
    this.#afterCr = false
    let begin = 0
    if (at === 1 && this.#fresh) {
      emit(new Frame(bytes.subarray(0, 1), false, true, NO_FIELDS))
      begin = 1
    }
    /** The end of the comments and blank lines that start at `begin`. */
    let quiet = begin
    let lf = -1
    let cr = -1
    while (at < length) {
      if (lf < at) lf = positionOf(bytes, LF, at)
      if (cr < at) cr = positionOf(bytes, CR, at)
      const eol = lf < cr ? lf : cr
      if (eol > at) {
        if (this.#lineEmpty && bytes[at] !== COLON) this.#hasFields = true
        this.#lineEmpty = false
      }
      if (eol === length) break
      at = eol + 1
      if (eol === cr) {
        if (at === length) this.#afterCr = true
        else if (bytes[at] === LF) at++
      }
      if (this.#lineEmpty) {
        const apart =
          this.#hasFields || this.#size > 0 || this.#oversized || at - quiet > this.#limit
        if (begin < quiet && (apart || at - begin > this.#limit)) {
          this.#pass(bytes.subarray(begin, quiet), emit)
          begin = quiet
        }
        if (apart) {
          this.#complete(bytes.subarray(quiet, at), emit)
          begin = at
        }
        quiet = at
        this.#hasFields = false
      }
      this.#lineEmpty = true
    }
    if (begin < quiet) this.#pass(bytes.subarray(begin, quiet), emit)
    if (quiet < length) this.#keep(bytes.subarray(quiet), emit)
  }

  /** Ends the stream; returns the buffered bytes of an incomplete event. */
  end(): Uint8Array {
    const size = this.#size
    return joined(this.#take(), size)
  }

  /** Emits the buffered part of an incomplete event; the rest follows in pieces. */
  flush(emit: EmitFrame): void {
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
    } else if (this.#append(part, true)) {
      emit(new Frame(this.#take(), false, true, undefined, first))
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

  /** Emits the buffered part of an event that is too large. */
  #release(emit: EmitFrame): void {
    if (this.#size === 0) return
    emit(new Frame(this.#take(), true, false, NO_FIELDS))
  }

  /** Takes the bytes of the incomplete event, in at least one piece. */
  #take(): readonly Buffer[] {
    const parts = this.#parts
    if (this.#used > 0 || parts.length === 0) parts.push(this.#held.subarray(0, this.#used))
    this.#budget.give(this.#taken)
    this.#parts = []
    this.#held = NOTHING
    this.#used = 0
    this.#size = 0
    this.#taken = 0
    return parts
  }

  /** Keeps a part; returns false when there is no room. */
  #append(part: Buffer, isLast = false): boolean {
    // A small slice would keep its whole chunk alive.
    const isLarge = part.length >= LARGE_PART && part.length * 2 >= part.buffer.byteLength
    const size = this.#used + part.length
    if (isLarge ? !this.#reserve(part.length) : !this.#grow(size, isLast)) return false
    this.#size += part.length
    if (isLarge) {
      if (this.#used > 0) this.#parts.push(this.#held.subarray(0, this.#used))
      this.#parts.push(part)
      this.#held = NOTHING
      this.#used = 0
    } else {
      part.copy(this.#held, this.#used)
      this.#used = size
    }
    return true
  }

  /** Enlarges the buffer to this size; doubles it, to stay linear, unless this is the last time. */
  #grow(size: number, isLast: boolean): boolean {
    if (size <= this.#held.length) return true
    const length = isLast ? size : Math.max(size, Math.min(size * 2, this.#limit))
    if (!this.#reserve(length - this.#held.length)) return false
    const grown = Buffer.allocUnsafe(length)
    this.#held.copy(grown, 0, 0, this.#used)
    this.#held = grown
    return true
  }

  #reserve(bytes: number): boolean {
    if (!this.#budget.take(bytes)) return false
    this.#taken += bytes
    return true
  }
}

/** Joins its pieces and parses its fields on first access, because most frames are only forwarded. */
class Frame implements SseFrame {
  readonly size: number
  readonly ends: boolean
  #raw: Buffer | undefined
  readonly #pieces: readonly Buffer[] | undefined
  #oversized: boolean | undefined
  #fields: SseFields | undefined
  /** Null before it was looked for. */
  #outline: EventOutline | undefined | null = null
  readonly #first: boolean

  constructor(
    bytes: Buffer | readonly Buffer[],
    oversized: boolean,
    ends: boolean,
    fields: SseFields | undefined,
    first = false,
  ) {
    if (Buffer.isBuffer(bytes)) {
      this.#raw = bytes
      this.size = bytes.length
    } else {
      this.#pieces = bytes
      this.size = bytes.reduce((size, piece) => size + piece.length, 0)
    }
    this.#oversized = oversized || (this.size > SMALL_JSON ? undefined : false)
    this.ends = ends
    this.#fields = fields
    this.#first = first
  }

  get raw(): Buffer {
    return (this.#raw ??= joined(this.#pieces!, this.size))
  }

  get firstByte(): number | undefined {
    return (this.#pieces?.[0] ?? this.raw)[0]
  }

  get oversized(): boolean {
    return (this.#oversized ??=
      this.#large === undefined &&
      (hasManyLines(this.raw) || isTooComplex(this.#read().data ?? '')))
  }

  get outline(): ReadMessages | undefined {
    return this.#large?.read
  }

  get event(): string | undefined {
    return (this.#large?.fields ?? this.#read()).event
  }

  get id(): string | undefined {
    return (this.#large?.fields ?? this.#read()).id
  }

  get retry(): number | undefined {
    return (this.#large?.fields ?? this.#read()).retry
  }

  get data(): string | undefined {
    return this.#read().data
  }

  get #large(): EventOutline | undefined {
    if (this.#outline !== null) return this.#outline
    return (this.#outline =
      this.#fields === undefined
        ? outlineOfEvent(this.#pieces ?? [this.raw], this.#first)
        : undefined)
  }

  #read(): SseFields {
    return (this.#fields ??= parseSseFields(this.raw, this.#first))
  }
}

function joined(pieces: readonly Buffer[], size: number): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, size)
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
