const NINE = 0x39
const ZERO = 0x30
/** More digits are left to the parser. */
const DIGITS = 9
const NOTHING = Buffer.alloc(0)

/**
 * Knows the head read last by its bytes. A client sends the same head with each of its calls but for
 * the length of the body, and so does an app with its responses: comparing costs a tenth of reading.
 */
export class HeadMemo<Known> {
  /** What was said of the head; valid after `matches` returned true. */
  known!: Known
  /** The declared length in the bytes that matched; 0 for a head without one. */
  length = 0
  /** How many bytes of head matched. */
  size = 0
  #before: Buffer | undefined
  /** Undefined where the head declares no length. */
  #after: Buffer | undefined

  /** Whether the same head stands at a place, be its declared length another. */
  matches(bytes: Buffer, at: number, limit = bytes.length): boolean {
    const before = this.#before
    if (before === undefined) return false
    let place = at + before.length
    // A longer head has no place here, and comparing past the end would take what is not there.
    if (place > limit || before.compare(bytes, at, place) !== 0) return false
    const after = this.#after
    if (after === undefined) {
      this.size = before.length
      return true
    }
    let length = 0
    const digits = place
    for (; place < limit && place - digits < DIGITS; place++) {
      const digit = bytes[place]!
      if (digit < ZERO || digit > NINE) break
      length = length * 10 + digit - ZERO
    }
    const count = place - digits
    if (count === 0 || (count > 1 && bytes[digits] === ZERO)) return false
    const end = place + after.length
    if (end > limit || after.compare(bytes, place, end) !== 0) return false
    this.length = length
    this.size = end - at
    return true
  }

  /** Keeps a copy of a head, split around the digits of its declared length where it has one. */
  keep(bytes: Buffer, at: number, size: number, known: Known, digits: string): void {
    this.known = known
    if (digits === '') {
      this.#before = Buffer.from(bytes.subarray(at, at + size))
      this.#after = undefined
      this.length = 0
      return
    }
    const start = lengthPlace(bytes, at, size)
    this.#before = Buffer.from(bytes.subarray(at, start))
    this.#after = Buffer.from(bytes.subarray(start + digits.length, at + size))
  }

  /** The head that is kept, with these digits as its declared length. */
  bytes(digits: string): Buffer {
    return Buffer.concat([this.#before ?? NOTHING, Buffer.from(digits), this.#after ?? NOTHING])
  }

  /** Keeps nothing. */
  forget(): void {
    this.#before = undefined
    this.#after = undefined
  }
}

const NAME = /\r\ncontent-length: /i

/** Where the digits begin. The head is known to have one such line, and no line break elsewhere. */
function lengthPlace(bytes: Buffer, at: number, size: number): number {
  const match = NAME.exec(bytes.toString('latin1', at, at + size))
  if (match === null) throw new Error('a head without the length that was read in it')
  return at + match.index + match[0].length
}
