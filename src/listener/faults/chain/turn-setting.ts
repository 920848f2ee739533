import type { RequestHead } from '../../../http/headers.ts'
import type { Keeping } from '../../../base/room.ts'
import type { ExchangeFacts } from '../../../rules/match/call-facts.ts'
import type { FaultPlace } from '../fault-events.ts'

/** On whose behalf something is done that outlives a call. */
export interface Behalf {
  readonly place: FaultPlace
  /** Whether what is done is marked on the wire. */
  readonly marked: boolean
  /** Aborted when the rule is taken back. */
  readonly retired: AbortSignal
}

/** What faults may do beyond the exchange that they act on. */
export interface ExchangeHost {
  /** The session of the exchange is turned away from here on. False where there is none. */
  expireSession(by: Behalf): boolean
  /** True when a fault has ended the session of the exchange. */
  isSessionOver(): boolean
  /** New connections are turned away for so many milliseconds. */
  refuseConnections(ms: number, by: Behalf): void
}

/** What all faults of one exchange have in common. */
export interface TurnSetting {
  readonly facts: ExchangeFacts
  readonly request: RequestHead
  /** How many bytes the body of the request has. */
  readonly requestBytes: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly host: ExchangeHost
  /** Where what faults keep for later calls is counted. */
  readonly keeping?: Keeping | undefined
}
