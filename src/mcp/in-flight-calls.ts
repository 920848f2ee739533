import type { JsonRpcId } from './call.ts'
import { Chain } from '../base/linked-list.ts'
import { SessionCalls } from './session-calls.ts'

/** Keys longer than this are not kept: the table's bound is a number of entries, not of bytes. */
const MAX_KEY = 1024

interface Entry<T> {
  readonly session: string
  readonly id: JsonRpcId
  readonly value: T
  readonly expires: number
  newer: Entry<T> | undefined
  older: Entry<T> | undefined
}

/** Bounds of a table of in-flight requests. */
export interface PendingLimits {
  /** Most entries at one time. */
  readonly limit: number
  /** How long an entry stays, in the unit of the `now` that it is added with. */
  readonly ttl: number
}

/**
 * Calls that will be answered on another connection, by session and id. Every value that was added
 * leaves exactly once: through `take`, `expire`, `dropSession` or `onEvict`.
 */
export class PendingCalls<T> {
  readonly #limit: number
  readonly #ttl: number
  readonly #onEvict: (value: T, full: boolean) => void
  readonly #sessions = new Map<string, SessionCalls<Entry<T>>>()
  /** Sessions without a call: their next one mostly comes before `expire` clears them away. */
  #emptied: SessionCalls<Entry<T>>[] = []
  readonly #order = new Chain<Entry<T>>()
  #size = 0

  /**
   * `onEvict` gets what leaves early: the oldest of a full table (`full`), one whose id is used again,
   * or one whose key is too long to be kept.
   */
  constructor(limits: PendingLimits, onEvict: (value: T, full: boolean) => void) {
    this.#limit = Math.max(1, limits.limit)
    this.#ttl = limits.ttl
    this.#onEvict = onEvict
  }

  /** How many calls are pending. */
  get size(): number {
    return this.#size
  }

  /** Keeps a value. `now` must not go backwards from one call to the next. */
  add(session: string, id: JsonRpcId, value: T, now: number): void {
    if (session.length > MAX_KEY || (typeof id === 'string' && id.length > MAX_KEY)) {
      this.#onEvict(value, false)
      return
    }
    let calls = this.#sessions.get(session)
    const replaced = calls?.get(id)
    const evicted = replaced ?? (this.#size >= this.#limit ? this.#order.oldest : undefined)
    if (evicted !== undefined) {
      this.#remove(evicted)
      // It may have been the session's only one, and the session be cleared away with it.
      calls = this.#sessions.get(session)
    }
    const entry: Entry<T> = {
      session,
      id,
      value,
      expires: now + this.#ttl,
      newer: undefined,
      older: undefined,
    }
    if (calls === undefined) this.#sessions.set(session, (calls = new SessionCalls(session)))
    calls.add(entry)
    this.#order.add(entry)
    this.#size++
    // Last, so that a callback that looks at the table finds it whole.
    if (evicted !== undefined) this.#onEvict(evicted.value, replaced === undefined)
  }

  /** The value for an id; it stays. */
  peek(session: string, id: JsonRpcId): T | undefined {
    return this.#sessions.get(session)?.get(id)?.value
  }

  /** The value for an id; it leaves. Where only one value is meant, no other leaves in its place. */
  take(session: string, id: JsonRpcId, meant?: T): T | undefined {
    const calls = this.#sessions.get(session)
    const entry = calls?.get(id)
    if (entry === undefined) return undefined
    if (meant !== undefined && entry.value !== meant) return undefined
    this.#remove(entry, calls)
    return entry.value
  }

  /** Takes out what has been here for the whole time to live, oldest first. */
  expire(now: number): T[] {
    this.#clear()
    const expired: T[] = []
    for (;;) {
      const oldest = this.#order.oldest
      if (oldest === undefined || oldest.expires > now) return expired
      this.#remove(oldest)
      expired.push(oldest.value)
    }
  }

  /** The values of a session. */
  *ofSession(session: string): Iterable<T> {
    for (const { value } of this.#sessions.get(session)?.values() ?? []) yield value
  }

  /** Takes out all calls of a session, oldest first. */
  dropSession(session: string): T[] {
    const calls = this.#sessions.get(session)
    if (calls === undefined) return []
    const dropped: T[] = []
    for (const entry of Array.from(calls.values())) {
      this.#remove(entry)
      dropped.push(entry.value)
    }
    return dropped
  }

  #remove(entry: Entry<T>, calls = this.#sessions.get(entry.session)): void {
    this.#order.remove(entry)
    this.#size--
    if (calls === undefined) return
    calls.delete(entry)
    if (calls.size > 0 || calls.idle) return
    calls.idle = true
    this.#emptied.push(calls)
    if (this.#emptied.length > this.#limit) this.#clear()
  }

  #clear(): void {
    const emptied = this.#emptied
    this.#emptied = []
    for (const calls of emptied) {
      calls.idle = false
      if (calls.size === 0) this.#sessions.delete(calls.session)
    }
  }
}
