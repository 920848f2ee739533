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

/** Why a fault could not act. */
export type NotApplicableReason =
  /** It had its turn and found nothing that it acts on. */
  | 'nothing_to_act_on'
  /** A reply could not carry the call's id exactly. */
  | 'inexact_id'
  /** What it asks for would hit the other calls of the batch. */
  | 'shared_exchange'
  /** The answer goes by another connection, and none is open. */
  | 'no_push_stream'
  /** The call is answered on another connection than its own. */
  | 'answered_elsewhere'
  /** The status was on its way when the fault had its turn. */
  | 'head_sent'
  /** The answer, or one event of it, is too large to hold. */
  | 'too_large'
  /** The answer's coding cannot be read. */
  | 'unreadable'

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
