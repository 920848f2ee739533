import { UNLIMITED_CACHES, type CacheBudget, type EvictableCache } from '../../base/byte-budget.ts'

/** Keeps more of them than the age requires, so that one of about that age is always there. */
const STEPS = 16
const MAX_KEYS = 1000
/** All of one rule together, and the largest one, in characters. */
const MAX_TOTAL = 8 * 1024 * 1024
const MAX_ONE = 1024 * 1024
/** Most bytes that a character takes. */
const BYTES = 2

interface StoredResponse {
  readonly text: string
  readonly at: number
}

/**
 * Earlier responses, by their requests. Bounded: drops those first that were not added to for
 * longest.
 */
export class StoredResponses implements EvictableCache {
  readonly #age: number
  readonly #cacheBudget: CacheBudget
  readonly #byKey = new Map<string, StoredResponse[]>()
  #total = 0
  #isClosed = false

  /** The least age of a kept response, in milliseconds. */
  constructor(age: number, cacheBudget: CacheBudget = UNLIMITED_CACHES) {
    this.#age = age
    this.#cacheBudget = cacheBudget
  }

  /** The newest that is old enough. */
  older(key: string, now: number): string | undefined {
    return this.#byKey.get(key)?.findLast(({ at }) => now - at >= this.#age)?.text
  }

  /** Keeps a response, where it may be asked for. */
  add(key: string, text: string, now: number): void {
    if (text.length > MAX_ONE || this.#isClosed) return
    const list = this.#byKey.get(key) ?? []
    const newest = list.at(-1)
    // One for each step of the age is enough, unless the clock was set back.
    if (newest !== undefined && Math.abs(now - newest.at) < this.#age / STEPS) return
    this.#forget(key)
    const first = list.findLastIndex(({ at }) => now - at >= this.#age)
    const steps = list.slice(Math.max(first, 0)).slice(-STEPS - 1)
    const kept = [...(this.#age === 0 ? [] : steps), { text, at: now }]
    const size = sizeOf(key, kept)
    if (!this.#cacheBudget.keep(this, BYTES * size)) return
    // As the last of the map, with what belongs to it.
    this.#byKey.set(key, kept)
    this.#total += size
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size <= MAX_KEYS && this.#total <= MAX_TOTAL) break
      this.#forget(oldest)
    }
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
    const list = this.#byKey.get(key)
    if (list === undefined) return
    this.#byKey.delete(key)
    this.#total -= sizeOf(key, list)
    this.#cacheBudget.release(this, BYTES * sizeOf(key, list))
  }
}

function sizeOf(key: string, list: readonly StoredResponse[]): number {
  return list.reduce((sum, { text }) => sum + text.length, key.length)
}
