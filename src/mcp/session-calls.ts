import type { JsonRpcId } from './call.ts'

/** With more entries a Map is faster than a list. */
const FEW = 16

/**
 * Holds the open calls of one session by id; `1` and `"1"` are different ids. A session mostly has
 * few calls, and filling and emptying a Map for every call costs more than the rest of its
 * bookkeeping.
 */
export class SessionCalls<E extends { readonly id: JsonRpcId }> {
  readonly session: string
  /** True while the empty session waits for removal. */
  idle = false
  #few: E[] = []
  #many: Map<JsonRpcId, E> | undefined

  constructor(session: string) {
    this.session = session
  }

  get size(): number {
    return this.#many === undefined ? this.#few.length : this.#many.size
  }

  get(id: JsonRpcId): E | undefined {
    if (this.#many !== undefined) return this.#many.get(id)
    for (const entry of this.#few) if (entry.id === id) return entry
    return undefined
  }

  /** Adds an entry with a new id. */
  add(entry: E): void {
    if (this.#many === undefined && this.#few.length < FEW) {
      this.#few.push(entry)
      return
    }
    this.#many ??= new Map(this.#few.map((known) => [known.id, known]))
    this.#few = []
    this.#many.set(entry.id, entry)
  }

  delete(entry: E): void {
    if (this.#many !== undefined) {
      this.#many.delete(entry.id)
      if (this.#many.size === 0) this.#many = undefined
      return
    }
    const at = this.#few.indexOf(entry)
    const last = this.#few.pop()
    if (at >= 0 && last !== undefined && last !== entry) this.#few[at] = last
  }

  values(): Iterable<E> {
    return this.#many === undefined ? this.#few : this.#many.values()
  }
}
