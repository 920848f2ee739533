import type { RequestHead } from '../../../http/headers.ts'
import type { Keeping } from '../../../base/room.ts'
import type { ExchangeFacts } from '../../../rules/match/call-facts.ts'
import type { FaultRef } from '../fault-events.ts'

/** Identifies the fault that causes an effect beyond its call. */
export interface FaultOrigin {
  readonly ref: FaultRef
  /** True when the effect carries a marker. */
  readonly marked: boolean
  /** Aborted when the rule is withdrawn. */
  readonly retired: AbortSignal
}

/** Offers faults effects beyond their exchange. */
export interface ExchangeControl {
  /** Rejects further requests of the session; returns false without a session. */
  expireSession(by: FaultOrigin): boolean
  /** Returns true when a fault or the app has ended the session. */
  hasSessionEnded(): boolean
  /** Resets new connections for `ms` milliseconds. */
  refuseConnections(ms: number, by: FaultOrigin): void
  /** Reports later calls that contain this word. */
  watchFor(word: string): void
}

/** Facts that all faults of one exchange share. */
export interface ExchangeContext {
  readonly facts: ExchangeFacts
  readonly request: RequestHead
  /** The size of the request's body in bytes. */
  readonly requestBytes: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly control: ExchangeControl
  /** Counts the memory that faults keep for later calls. */
  readonly keeping?: Keeping | undefined
}
