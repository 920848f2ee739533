import { UNLIMITED_CACHES, type CacheBudget, type EvictableCache } from '../../base/byte-budget.ts'

const MAX_KEYS = 1000
/** All of one rule together, and the largest one, in characters. */
const MAX_TOTAL = 8 * 1024 * 1024
const MAX_ONE = 1024 * 1024
/** Most bytes that a character takes. */
const BYTES = 2

interface First {
  readonly text: string
  readonly at: number
}

/** The first text of each key, for ever or for an age. Bounded: the oldest goes first. */
export class FirstTexts implements EvictableCache {
  readonly #age: number
  readonly #cacheBudget: CacheBudget
  readonly #byKey = new Map<string, First>()
  #total = 0
  #isClosed = false

  /** Replaces texts older than `age` milliseconds. */
  constructor(age: number, cacheBudget: CacheBudget = UNLIMITED_CACHES) {
    this.#age = age
    this.#cacheBudget = cacheBudget
  }

  /** The first text of a key; undefined when this one is it. */
  firstOr(key: string, text: string, now: number): string | undefined {
    const first = this.#byKey.get(key)
    if (first !== undefined && now - first.at < this.#age) return first.text
    this.#forget(key)
    const size = key.length + text.length
    if (size > MAX_ONE || this.#isClosed) return undefined
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size < MAX_KEYS && this.#total + size <= MAX_TOTAL) break
      this.#forget(oldest)
    }
    if (!this.#cacheBudget.keep(this, BYTES * size)) return undefined
    this.#byKey.set(key, { text, at: now })
    this.#total += size
    return undefined
  }

  evict(): void {
    this.#byKey.clear()
    this.#total = 0
  }

  /** Its rule is gone. */
  close(): void {
    this.#isClosed = true
    this.#cacheBudget.release(this, BYTES * this.#total)
    this.evict()
  }

  #forget(key: string): void {
    const first = this.#byKey.get(key)
    if (first === undefined) return
    this.#byKey.delete(key)
    const size = key.length + first.text.length
    this.#total -= size
    this.#cacheBudget.release(this, BYTES * size)
  }
}
