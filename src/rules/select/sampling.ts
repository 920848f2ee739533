const FIRST_A = 0x243f6a88
const FIRST_B = 0x13198a2e
/** Ends a field. No UTF-16 code unit is this large, so that no two lists of fields read the same. */
const END_OF_FIELD = 0x10000

/**
 * A hash under way: two lanes of 32 bits that have taken in some fields of text. What a draw is a
 * function of is taken in field by field, the part that a rule knows beforehand only once.
 * The exact arithmetic is written down in docs/sampling.md; changing it changes every rule's draws.
 */
export class Draw {
  readonly #a: number
  readonly #b: number

  private constructor(a: number, b: number) {
    this.#a = a
    this.#b = b
  }

  /** The hash of these fields. */
  static of(...fields: readonly string[]): Draw {
    let draw = new Draw(FIRST_A | 0, FIRST_B | 0)
    for (const field of fields) draw = draw.with(field)
    return draw
  }

  /** The hash with one more field. */
  with(field: string): Draw {
    let a = this.#a
    let b = this.#b
    for (let i = 0; i <= field.length; i++) {
      const word = i < field.length ? field.charCodeAt(i) : END_OF_FIELD
      a = Math.imul(a ^ word, 0x9e3779b1)
      b = Math.imul(b ^ word, 0x85ebca77)
      a ^= b >>> 15
      b ^= a >>> 13
    }
    return new Draw(a, b)
  }

  /** The number, from 0 to below 1, that belongs to the fields and one more. */
  number(field: string): number {
    let a = this.#a
    let b = this.#b
    for (let i = 0; i <= field.length; i++) {
      const word = i < field.length ? field.charCodeAt(i) : END_OF_FIELD
      a = Math.imul(a ^ word, 0x9e3779b1)
      b = Math.imul(b ^ word, 0x85ebca77)
      a ^= b >>> 15
      b ^= a >>> 13
    }
    a = scatter((a + b) | 0)
    b = scatter((b + a) | 0)
    a = (a + b) | 0
    // The upper 27 and 26 bits: as many as a double holds below 1.
    return ((a >>> 5) * 67_108_864 + (b >>> 6)) / 9_007_199_254_740_992
  }

  /** A source of numbers: the n-th is `number(String(n))`, counted from 0. */
  numbers(): () => number {
    let n = 0
    return () => this.number(String(n++))
  }
}

/** Spreads each bit over all 32. */
function scatter(value: number): number {
  let x = value
  x ^= x >>> 16
  x = Math.imul(x, 0x7feb352d)
  x ^= x >>> 15
  x = Math.imul(x, 0x846ca68b)
  return x ^ (x >>> 16)
}
