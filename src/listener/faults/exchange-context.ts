import type { Keeping } from '../../base/room.ts'
import type { RequestHead } from '../../http/headers.ts'
import type { Call } from '../../mcp/call.ts'
import type { ExchangeFacts } from '../../rules/match/call-facts.ts'
import type { Disturbance } from '../disturbance.ts'
import type { FaultListener, FaultRef } from './fault-events.ts'

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
  /** The largest response that is held for faults that need all of it. */
  readonly maxBody: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly control: ExchangeControl
  readonly listener: FaultListener
  /** The call, or else the stream, to which a message of the server belongs. */
  readonly group?: object | undefined
  /** Returns the records of a call, or of all open calls of the exchange, that faults may disturb. */
  readonly disturbancesOf?: ((call: Call | undefined) => readonly Disturbance[]) | undefined
  /** Counts the memory that faults keep for later calls. */
  readonly keeping?: Keeping | undefined
}
