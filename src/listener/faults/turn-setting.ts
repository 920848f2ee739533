import type { FaultHost } from '../../filters/fault.ts'
import type { ExchangeFacts } from '../../rules/call-facts.ts'

/** What all faults of one exchange have in common. */
export interface TurnSetting {
  readonly facts: ExchangeFacts
  /** How many bytes the body of the request has. */
  readonly requestBytes: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly host: FaultHost
}
