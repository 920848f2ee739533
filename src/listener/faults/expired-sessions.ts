import { LruMap } from '../../base/lru-map.ts'
import type { FaultOrigin } from './chain/exchange-context.ts'

/**
 * Holds the sessions that a fault has ended: the app still knows them, but their requests are
 * rejected.
 */
export class ExpiredSessions {
  readonly #sessions: LruMap<FaultOrigin>

  constructor(limit: number) {
    this.#sessions = new LruMap(limit)
  }

  /** Ends a session while the rule stays active. */
  add(session: string, by: FaultOrigin): void {
    this.#sessions.set(session, by)
  }

  /** Returns the fault that ended a session, if any. */
  of(session: string): FaultOrigin | undefined {
    if (session === '' || this.#sessions.size === 0) return undefined
    const by = this.#sessions.get(session)
    if (by?.retired.aborted !== true) return by
    this.#sessions.delete(session)
    return undefined
  }
}
