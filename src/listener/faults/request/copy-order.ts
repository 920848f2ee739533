import type { ActiveFault } from '../chain/active-fault.ts'

/** The copies of a call that one fault orders. */
export interface CopyOrder {
  readonly active: ActiveFault
  readonly copies: number
  /** Milliseconds. */
  readonly spacing: number
}

/** Holds the ordered copies of one call. */
export class CopyOrders {
  /** Aborted when the upstream responds to the call; undefined without a session. */
  responded: AbortController | undefined
  /** True when the upstream reports the end of the session. */
  sessionEnded = false
  #waiting: CopyOrder[] = []
  #taken: readonly CopyOrder[] = []

  /** True when copies are ordered. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  add(order: CopyOrder): void {
    this.#waiting.push(order)
  }

  /** Returns the ordered copies, when the call is sent to the upstream. */
  take(isInSession: boolean): readonly CopyOrder[] {
    this.#taken = this.#waiting.splice(0)
    if (isInSession) this.responded = new AbortController()
    return this.#taken
  }

  /**
   * Handles the upstream's response: copies without spacing are settled, and all are revoked when
   * the session has ended.
   */
  responds(hasSessionEnded: boolean): void {
    this.sessionEnded = hasSessionEnded
    for (const { active, spacing } of this.#taken) {
      if (hasSessionEnded) active.revoke('session_over')
      else if (spacing === 0) active.settle()
    }
    this.responded?.abort()
  }

  /**
   * Orders the copies again for a redirected request, because the first ones went to the old
   * target.
   */
  repeat(): void {
    this.#waiting = [...this.#taken]
  }

  /** Revokes the copies of a call that is not sent. */
  drop(): void {
    for (const { active } of this.#waiting.splice(0)) active.revoke('call_not_sent')
  }
}
