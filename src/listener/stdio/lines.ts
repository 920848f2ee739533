import { asBuffer } from '../../base/bytes.ts'
import { ByteList } from '../../base/byte-list.ts'

/** A part of a stream of lines. */
export interface LinePart {
  readonly bytes: Buffer
  /**
   * A `line` has its line feed, a `tail` is the last line without one. A line above the limit comes
   * in parts: `long`, then `more` until its line feed.
   */
  readonly kind: 'line' | 'tail' | 'long' | 'more'
}

const LF = 0x0a
const CR = 0x0d

/** Splits a stream into lines, and holds at most one line within the limit. */
export class LineSplitter {
  readonly #limit: number
  readonly #held = new ByteList()
  #isLong = false

  constructor(limit: number) {
    this.#limit = limit
  }

  *push(chunk: Buffer): Generator<LinePart> {
    let from = 0
    while (from < chunk.length) {
      const end = chunk.indexOf(LF, from) + 1
      const part = chunk.subarray(from, end === 0 ? chunk.length : end)
      from += part.length
      yield* this.#add(part, end > 0)
    }
  }

  /** Returns what follows the last line feed. */
  end(): LinePart | undefined {
    if (this.#held.size === 0) return undefined
    return { bytes: this.#take(), kind: 'tail' }
  }

  *#add(part: Buffer, ends: boolean): Generator<LinePart> {
    if (this.#isLong) {
      this.#isLong = !ends
      yield { bytes: part, kind: 'more' }
    } else if (ends && this.#held.size === 0 && part.length <= this.#limit) {
      yield { bytes: part, kind: 'line' }
    } else {
      this.#held.push(part)
      if (this.#held.size > this.#limit) yield* this.#takeLong(ends)
      else if (ends) yield { bytes: this.#take(), kind: 'line' }
    }
  }

  /** Takes the pieces that are held apart, so that no single part is large. */
  *#takeLong(ends: boolean): Generator<LinePart> {
    const { list } = this.#held
    this.#held.clear()
    this.#isLong = !ends
    for (const [at, piece] of list.entries()) {
      yield { bytes: asBuffer(piece), kind: at === 0 ? 'long' : 'more' }
    }
  }

  #take(): Buffer {
    const bytes = asBuffer(this.#held.joined())
    this.#held.clear()
    return bytes
  }
}

/** Returns true for a line that may be JSON-RPC: an object or array without a lone CR. */
export function mayBeMessage(line: Buffer): boolean {
  let at = 0
  while (isSpace(line[at])) at++
  if (line[at] !== 0x7b && line[at] !== 0x5b) return false
  const cr = line.indexOf(CR)
  return cr < 0 || (cr === line.length - 2 && line[cr + 1] === LF)
}

/** Returns true for a line of white space. */
export function isBlank(line: Buffer): boolean {
  return line.every(isSpace)
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === CR || byte === LF
}
