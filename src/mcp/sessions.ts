import type { ClientInfo, Transport } from './call.ts'
import { LruMap } from '../base/lru-map.ts'

/** Longer ids are not learned: the table's bound is a number of sessions, not of bytes. */
const MAX_ID = 1024

/** What is known of a session. */
export interface Session {
  readonly transport: Transport
  readonly client?: ClientInfo | undefined
  readonly protocolVersion?: string | undefined
}

/** What sessions said of themselves when they began, for as long as there is room. */
export class Sessions {
  readonly #known: LruMap<Session>
  readonly #over: LruMap<true>

  constructor(limit: number, onEvict?: (id: string, session: Session) => void) {
    this.#known = new LruMap(limit, onEvict)
    this.#over = new LruMap(limit)
  }

  /** How many sessions are known. */
  get size(): number {
    return this.#known.size
  }

  /** Adds to what is known of a session; what is undefined here leaves the known as it is. */
  learn(id: string, session: Session): void {
    if (id.length > MAX_ID) return
    const known = this.#known.get(id)
    this.#over.delete(id)
    this.#known.set(id, {
      transport: session.transport,
      client: session.client ?? known?.client,
      protocolVersion: session.protocolVersion ?? known?.protocolVersion,
    })
  }

  /** What is known of a session. */
  get(id: string): Session | undefined {
    return this.#known.get(id)
  }

  /** Forgets a session that has ended. */
  forget(id: string): void {
    this.#known.delete(id)
    if (id.length <= MAX_ID) this.#over.set(id, true)
  }

  /** Returns true for one of the sessions that have ended lately. */
  isOver(id: string): boolean {
    return this.#over.get(id) === true
  }
}
