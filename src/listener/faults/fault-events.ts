import type { NotApplicableReason } from '../../filters/lib/not-applicable.ts'
import type { Call } from '../../mcp/call.ts'

/** Which fault of which rule, on which call. */
export interface FaultPlace {
  readonly rule: string
  readonly fault: string
  /** Undefined when a rule about HTTP hit an exchange without a call. */
  readonly call: Call | undefined
}

/** A fault took effect. */
export interface InjectedRecord extends FaultPlace {
  /** What it did, where the fault tells more than its name. */
  readonly effect: string | undefined
  /** How long it means to wait, in milliseconds; undefined when it does not. */
  readonly delayMs: number | undefined
  /** False when the same fault took effect on the same call before, as with each event of a stream. */
  readonly first: boolean
}

export type { NotApplicableReason }

/** A fault was drawn, had its turn and could not act. */
export interface NotApplicableRecord extends FaultPlace {
  readonly reason: NotApplicableReason
}

/** Is told what faults do. Must not throw. */
export interface FaultListener {
  injected(record: InjectedRecord): void
  notApplicable(record: NotApplicableRecord): void
  /** A fault failed by itself. The traffic passes it untouched. */
  broke(place: FaultPlace, error: unknown): void
}
