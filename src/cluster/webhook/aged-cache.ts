/** Remembers answers for a while: no more than so many, and none longer than that. */
export class AgedCache<Value> {
  readonly #maxAgeMs: number
  readonly #most: number
  readonly #now: () => number
  readonly #entries = new Map<string, { readonly value: Promise<Value>; readonly at: number }>()

  constructor(maxAgeMs: number, most: number, now: () => number) {
    this.#maxAgeMs = maxAgeMs
    this.#most = most
    this.#now = now
  }

  /** Returns the cached value, or else requests it; concurrent callers share one request. */
  get(key: string, ask: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key)
    if (known !== undefined && this.#now() - known.at < this.#maxAgeMs) return known.value
    const entry = { value: ask(), at: this.#now() }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    // A failure is not remembered.
    entry.value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    const oldest = this.#entries.keys().next().value
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest)
    return entry.value
  }
}
