import type { ClientInfo, Transport } from './call.ts'
import { LruMap } from '../base/lru-map.ts'

/** The length of the longest id, because the table bounds sessions and not bytes. */
const MAX_ID = 1024

/** Facts of a session. */
export interface Session {
  readonly transport: Transport
  readonly client?: ClientInfo | undefined
  readonly protocolVersion?: string | undefined
}

/**
 * Remembers the facts that sessions stated at their start, least recently used ones first to go.
 */
export class Sessions {
  readonly #known: LruMap<Session>
  readonly #ended: LruMap<true>

  constructor(limit: number, onEvict?: (id: string, session: Session) => void) {
    this.#known = new LruMap(limit, onEvict)
    this.#ended = new LruMap(limit)
  }

  get size(): number {
    return this.#known.size
  }

  /** Updates the facts of a session; undefined fields keep their value. */
  learn(id: string, session: Session): void {
    if (id.length > MAX_ID) return
    const known = this.#known.get(id)
    this.#ended.delete(id)
    this.#known.set(id, {
      transport: session.transport,
      client: session.client ?? known?.client,
      protocolVersion: session.protocolVersion ?? known?.protocolVersion,
    })
  }

  get(id: string): Session | undefined {
    return this.#known.get(id)
  }

  /** Forgets a session that has ended. */
  forget(id: string): void {
    this.#known.delete(id)
    if (id.length <= MAX_ID) this.#ended.set(id, true)
  }

  /** Returns true for a session that has ended recently. */
  hasEnded(id: string): boolean {
    return this.#ended.get(id) === true
  }
}
