import type { FaultTurn } from './fault-turn.ts'

/** Copies of the call that a fault wants the app to get. */
export interface CopyOrder {
  readonly turn: FaultTurn
  readonly copies: number
  /** Milliseconds. */
  readonly spacing: number
}
