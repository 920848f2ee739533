const FIRST_A = 0x243f6a88
const FIRST_B = 0x13198a2e
/** Ends a field. No UTF-16 code unit is this large, so different lists of fields never collide. */
const END_OF_FIELD = 0x10000

/**
 * Hashes fields of text into a number from 0 to below 1, in two words of 32 bits. A rule hashes the
 * fields that all calls share only once. docs/concepts/sampling.md specifies the arithmetic;
 * changing it changes which calls every rule samples.
 */
export class SampleHash {
  readonly #a: number
  readonly #b: number

  private constructor(a: number, b: number) {
    this.#a = a
    this.#b = b
  }

  static of(...fields: readonly string[]): SampleHash {
    let hash = new SampleHash(FIRST_A | 0, FIRST_B | 0)
    for (const field of fields) hash = hash.with(field)
    return hash
  }

  with(field: string): SampleHash {
    let a = this.#a
    let b = this.#b
    for (let i = 0; i <= field.length; i++) {
      const word = i < field.length ? field.charCodeAt(i) : END_OF_FIELD
      a = Math.imul(a ^ word, 0x9e3779b1)
      b = Math.imul(b ^ word, 0x85ebca77)
      a ^= b >>> 15
      b ^= a >>> 13
    }
    return new SampleHash(a, b)
  }

  /** Returns the number, from 0 to below 1, for the fields and one more. */
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
    // The upper 27 and 26 bits: the precision of a double below 1.
    return ((a >>> 5) * 67_108_864 + (b >>> 6)) / 9_007_199_254_740_992
  }

  /** Returns a source of numbers: the n-th is `number(String(n))`, counted from 0. */
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
