const NINE = 0x39
const ZERO = 0x30
/** The most digits of a length; longer ones go to the parser. */
const DIGITS = 9
const NOTHING = Buffer.alloc(0)

/**
 * Recognizes the last head by its bytes. Clients and upstreams repeat the same head except for the
 * length of the body, and comparing costs a tenth of reading.
 */
export class HeadMemo<Known> {
  /** The value kept with the head; valid after `matches` returned true. */
  known!: Known
  /** The declared length in the bytes that matched; 0 for a head without one. */
  length = 0
  /** The size of the head that matched, in bytes. */
  size = 0
  #before: Buffer | undefined
  /** Undefined where the head declares no length. */
  #after: Buffer | undefined

  /** Returns true when the head at `at` equals the kept one, except for the declared length. */
  matches(bytes: Buffer, at: number, limit = bytes.length): boolean {
    const before = this.#before
    if (before === undefined) return false
    let offset = at + before.length
    // `compare` throws for a range beyond the end.
    if (offset > limit || before.compare(bytes, at, offset) !== 0) return false
    const after = this.#after
    if (after === undefined) {
      this.size = before.length
      return true
    }
    let length = 0
    const digits = offset
    for (; offset < limit && offset - digits < DIGITS; offset++) {
      const digit = bytes[offset]!
      if (digit < ZERO || digit > NINE) break
      length = length * 10 + digit - ZERO
    }
    const count = offset - digits
    if (count === 0 || (count > 1 && bytes[digits] === ZERO)) return false
    const end = offset + after.length
    if (end > limit || after.compare(bytes, offset, end) !== 0) return false
    this.length = length
    this.size = end - at
    return true
  }

  /** Keeps a copy of a head, split around the digits of its declared length, if any. */
  keep(bytes: Buffer, at: number, size: number, known: Known, digits: string): void {
    this.known = known
    if (digits === '') {
      this.#before = Buffer.from(bytes.subarray(at, at + size))
      this.#after = undefined
      this.length = 0
      return
    }
    const start = lengthOffset(bytes, at, size)
    this.#before = Buffer.from(bytes.subarray(at, start))
    this.#after = Buffer.from(bytes.subarray(start + digits.length, at + size))
  }

  /** Returns the kept head with these digits as its declared length. */
  bytes(digits: string): Buffer {
    return Buffer.concat([this.#before ?? NOTHING, Buffer.from(digits), this.#after ?? NOTHING])
  }

  /** Drops the kept head. */
  forget(): void {
    this.#before = undefined
    this.#after = undefined
  }
}

const NAME = /\r\ncontent-length: /i

/** Returns the offset of the digits of the one Content-Length. */
function lengthOffset(bytes: Buffer, at: number, size: number): number {
  const match = NAME.exec(bytes.toString('latin1', at, at + size))
  if (match === null) throw new Error('the header block does not have the length that was read')
  return at + match.index + match[0].length
}
