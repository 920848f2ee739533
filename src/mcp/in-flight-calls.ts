import type { JsonRpcId } from './call.ts'
import { Chain, type Link } from '../base/linked-list.ts'
import { SessionCalls } from './session-calls.ts'

/** The length of the longest key, because the table bounds entries and not bytes. */
const MAX_KEY = 1024

interface Entry<T> extends Link<Entry<T>> {
  readonly session: string
  readonly id: JsonRpcId
  readonly value: T
  readonly expires: number
}

/** Bounds a table of in-flight requests. */
export interface InFlightLimits {
  /** The most entries at one time. */
  readonly limit: number
  /** The lifetime of an entry, in the unit of `now`. */
  readonly ttl: number
}

/**
 * Holds calls whose response may come on another connection, by session and id. Every added value
 * leaves exactly once: through `take`, `expire`, `dropSession` or `onEvict`.
 */
export class InFlightCalls<T> {
  readonly #limit: number
  readonly #ttl: number
  readonly #onEvict: (value: T, full: boolean) => void
  readonly #sessions = new Map<string, SessionCalls<Entry<T>>>()
  /** Sessions without a call, kept until `expire` because the next call mostly comes earlier. */
  #emptied: SessionCalls<Entry<T>>[] = []
  readonly #order = new Chain<Entry<T>>()

  /**
   * `onEvict` gets values that leave early: the oldest of a full table (`full`), a value whose id
   * is used again, or one whose key is too long.
   */
  constructor(limits: InFlightLimits, onEvict: (value: T, full: boolean) => void) {
    this.#limit = Math.max(1, limits.limit)
    this.#ttl = limits.ttl
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#order.size
  }

  /** Adds a value. `now` must not decrease between calls. */
  add(session: string, id: JsonRpcId, value: T, now: number): void {
    if (session.length > MAX_KEY || (typeof id === 'string' && id.length > MAX_KEY)) {
      this.#onEvict(value, false)
      return
    }
    let calls = this.#sessions.get(session)
    const replaced = calls?.get(id)
    const evicted = replaced ?? (this.size >= this.#limit ? this.#order.oldest : undefined)
    if (evicted !== undefined) {
      this.#remove(evicted)
      // The evicted call may have been the last of the session, which is then removed.
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
    // Called last, so that the callback sees a consistent table.
    if (evicted !== undefined) this.#onEvict(evicted.value, replaced === undefined)
  }

  /** Returns the value of an id without removing it. */
  peek(session: string, id: JsonRpcId): T | undefined {
    return this.#sessions.get(session)?.get(id)?.value
  }

  /** Removes and returns the value of an id; with `expected`, only that value. */
  take(session: string, id: JsonRpcId, expected?: T): T | undefined {
    const calls = this.#sessions.get(session)
    const entry = calls?.get(id)
    if (entry === undefined) return undefined
    if (expected !== undefined && entry.value !== expected) return undefined
    this.#remove(entry, calls)
    return entry.value
  }

  /** Removes and returns the expired values, oldest first. */
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

  /** Iterates over the values of a session. */
  *ofSession(session: string): Iterable<T> {
    for (const { value } of this.#sessions.get(session)?.values() ?? []) yield value
  }

  /** Removes and returns all values of a session, oldest first. */
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
