import type { JsonRpcId } from './call.ts'

/** Above this many, a Map is faster than looking through a list. */
const FEW = 16

/** What is kept by id. */
interface Identified {
  readonly id: JsonRpcId
}

/**
 * The open calls of one session by id; `1` and `"1"` are two. Nearly always they are few, and a Map
 * that is filled and emptied with every call costs more than the call's whole bookkeeping.
 */
export class SessionCalls<E extends Identified> {
  readonly session: string
  /** True while it waits to be cleared away. */
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

  /** Adds an entry whose id is not there. */
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
