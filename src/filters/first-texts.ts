const MAX_KEYS = 1000
/** All of one rule together, and the largest one, in characters. */
const MAX_TOTAL = 8 * 1024 * 1024
const MAX_ONE = 1024 * 1024

interface First {
  readonly text: string
  readonly at: number
}

/** The first text of each key, for ever or for an age. Bounded: the oldest goes first. */
export class FirstTexts {
  readonly #age: number
  readonly #byKey = new Map<string, First>()
  #total = 0

  /** A text that is older than so many milliseconds is replaced. */
  constructor(age: number) {
    this.#age = age
  }

  /** The first text of a key; undefined when this one is it. */
  firstOr(key: string, text: string, now: number): string | undefined {
    const first = this.#byKey.get(key)
    if (first !== undefined && now - first.at < this.#age) return first.text
    this.#forget(key)
    const size = key.length + text.length
    if (size > MAX_ONE) return undefined
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size < MAX_KEYS && this.#total + size <= MAX_TOTAL) break
      this.#forget(oldest)
    }
    this.#byKey.set(key, { text, at: now })
    this.#total += size
    return undefined
  }

  #forget(key: string): void {
    const first = this.#byKey.get(key)
    if (first === undefined) return
    this.#byKey.delete(key)
    this.#total -= key.length + first.text.length
  }
}
