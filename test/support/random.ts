/** A seeded source of choices: a failing run is repeated by its seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** From `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)]!
  }

  /** Up to `max` items made by `make`. */
  list<T>(max: number, make: () => T): T[] {
    return Array.from({ length: this.int(0, max) }, make)
  }

  /** A text of characters from an alphabet. */
  text(max: number, alphabet: string): string {
    return this.list(max, () => alphabet[this.int(0, alphabet.length - 1)]!).join('')
  }

  bytes(size: number): Buffer {
    const bytes = Buffer.allocUnsafe(size)
    for (let i = 0; i < size; i++) bytes[i] = this.int(0, 255)
    return bytes
  }

  /** Bytes cut at random places into at most `max` pieces. */
  cut(bytes: Buffer, max: number): Buffer[] {
    const places = this.list(max - 1, () => this.int(0, bytes.length)).sort((a, b) => a - b)
    const pieces: Buffer[] = []
    let start = 0
    for (const place of [...places, bytes.length]) {
      if (place > start) pieces.push(bytes.subarray(start, place))
      start = Math.max(start, place)
    }
    return pieces
  }
}

/** The seed of this run: `SQUALL_TEST_SEED`, or a new one. */
export function seedOfRun(): number {
  const given = process.env['SQUALL_TEST_SEED']
  return given === undefined
    ? Math.trunc(performance.timeOrigin + performance.now() * 1000) >>> 0
    : Number(given)
}
