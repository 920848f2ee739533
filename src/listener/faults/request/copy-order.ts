import type { FaultTurn } from '../chain/fault-turn.ts'

/** Copies of the call that a fault wants the app to get. */
export interface CopyOrder {
  readonly turn: FaultTurn
  readonly copies: number
  /** Milliseconds. */
  readonly spacing: number
}

/** The copies of one call that are due. */
export class CopyOrders {
  /** Aborted when the upstream answers the call; undefined where it belongs to no session. */
  heard: AbortController | undefined
  /** The upstream says that the session has ended. */
  sessionEnded = false
  #waiting: CopyOrder[] = []
  #taken: readonly CopyOrder[] = []

  /** True when the upstream is to get copies of the call. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  add(order: CopyOrder): void {
    this.#waiting.push(order)
  }

  /** The call goes to the upstream now, and these copies of it are due. */
  take(isInSession: boolean): readonly CopyOrder[] {
    this.#taken = this.#waiting.splice(0)
    if (isInSession) this.heard = new AbortController()
    return this.#taken
  }

  /** The upstream answers: copies that are due at once go now, and none where the session is over. */
  hear(isSessionOver: boolean): void {
    this.sessionEnded = isSessionOver
    for (const { turn, spacing } of this.#taken) {
      if (isSessionOver) turn.revoke('session_over')
      else if (spacing === 0) turn.settle()
    }
    this.heard?.abort()
  }

  /** The call went to where it was redirected from, and its copies with it: they go once more. */
  repeat(): void {
    this.#waiting = [...this.#taken]
  }

  /** The call is not sent. */
  drop(): void {
    for (const { turn } of this.#waiting.splice(0)) turn.revoke('call_not_sent')
  }
}
