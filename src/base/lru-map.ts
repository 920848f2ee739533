import { Chain, type Link } from './linked-list.ts'

interface Entry<V> extends Link<Entry<V>> {
  readonly key: string
  value: V
}

/** A bounded map: a new key evicts the least recently used one. */
export class LruMap<V> {
  readonly #limit: number
  readonly #onEvict: ((key: string, value: V) => void) | undefined
  readonly #entries = new Map<string, Entry<V>>()
  // A list instead of the map's order: finding a Map's first key slows down under steady deletes.
  readonly #order = new Chain<Entry<V>>()

  constructor(limit: number, onEvict?: (key: string, value: V) => void) {
    this.#limit = Math.max(1, limit)
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns the value of a key, which counts as a use. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#order.remove(entry)
    this.#order.add(entry)
    return entry.value
  }

  /** Sets a value, which counts as a use. */
  set(key: string, value: V): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.value = value
      this.#order.remove(entry)
      this.#order.add(entry)
      return
    }
    if (this.#entries.size >= this.#limit) this.#evict()
    const added: Entry<V> = { key, value, newer: undefined, older: undefined }
    this.#entries.set(key, added)
    this.#order.add(added)
  }

  /** Deletes a key; returns true when it existed. */
  delete(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#order.remove(entry)
    return true
  }

  /** Returns the values, the one that was used last first. */
  *values(): Iterable<V> {
    for (let entry = this.#order.newest; entry; entry = entry.older) yield entry.value
  }

  #evict(): void {
    const oldest = this.#order.oldest
    if (oldest === undefined) return
    this.delete(oldest.key)
    this.#onEvict?.(oldest.key, oldest.value)
  }
}
