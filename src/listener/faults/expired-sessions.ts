import { LruMap } from '../../base/lru-map.ts'
import type { Behalf } from './chain/turn-setting.ts'

/** Sessions that a fault has ended: the app still knows them, and nobody gets through to it by them. */
export class ExpiredSessions {
  readonly #sessions: LruMap<Behalf>

  constructor(limit: number) {
    this.#sessions = new LruMap(limit)
  }

  /** Ends a session on behalf of a rule, for as long as that is active. */
  add(session: string, by: Behalf): void {
    this.#sessions.set(session, by)
  }

  /** On whose behalf a session is turned away; undefined when it is not. */
  of(session: string): Behalf | undefined {
    if (session === '' || this.#sessions.size === 0) return undefined
    const by = this.#sessions.get(session)
    if (by?.retired.aborted !== true) return by
    this.#sessions.delete(session)
    return undefined
  }
}
