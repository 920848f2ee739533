import { UNLIMITED_CACHES, type CacheBudget, type EvictableCache } from '../../base/byte-budget.ts'

const MAX_KEYS = 1000
/** All of one rule together, and the largest one, in characters. */
const MAX_TOTAL = 8 * 1024 * 1024
export const MAX_ONE = 1024 * 1024
/** Most bytes that a character takes. */
const BYTES = 2

/** A text, and when it came. */
export interface KeptText {
  readonly text: string
  readonly at: number
}

/** Texts by key, and their age. Bounded: drops those first that were not added to for longest. */
export class KeptTexts implements EvictableCache {
  /** In milliseconds. */
  protected readonly age: number
  readonly #cacheBudget: CacheBudget
  readonly #byKey = new Map<string, readonly KeptText[]>()
  #total = 0
  #isClosed = false

  constructor(age: number, cacheBudget: CacheBudget = UNLIMITED_CACHES) {
    this.age = age
    this.#cacheBudget = cacheBudget
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

  protected of(key: string): readonly KeptText[] | undefined {
    return this.#byKey.get(key)
  }

  /** Replaces the texts of a key, which become the last to be dropped, where there is room. */
  protected put(key: string, texts: readonly KeptText[]): void {
    this.#forget(key)
    const size = sizeOf(key, texts)
    if (size > MAX_TOTAL || this.#isClosed) return
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size < MAX_KEYS && this.#total + size <= MAX_TOTAL) break
      this.#forget(oldest)
    }
    if (!this.#cacheBudget.keep(this, BYTES * size)) return
    this.#byKey.set(key, texts)
    this.#total += size
  }

  #forget(key: string): void {
    const texts = this.#byKey.get(key)
    if (texts === undefined) return
    this.#byKey.delete(key)
    this.#total -= sizeOf(key, texts)
    this.#cacheBudget.release(this, BYTES * sizeOf(key, texts))
  }
}

function sizeOf(key: string, texts: readonly KeptText[]): number {
  return texts.reduce((sum, { text }) => sum + text.length, key.length)
}
