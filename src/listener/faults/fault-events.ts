import type { NotApplicableReason } from '../../filters/lib/not-applicable.ts'
import type { Call } from '../../mcp/call.ts'
import type { FaultEffect } from '../../telemetry/telemetry.ts'

/** Identifies a fault of a rule, and the call. */
export interface FaultRef {
  readonly rule: string
  readonly fault: string
  /** Undefined when an HTTP rule matched an exchange without a call. */
  readonly call: Call | undefined
}

/** Records an effect of a fault. */
export interface InjectedRecord extends FaultRef {
  /** The effect, if the fault states more than its name. */
  readonly effect: string | undefined
  /** The intended delay in milliseconds, if any. */
  readonly delayMs: number | undefined
  /** False when the same fault took effect on the same call before, as with each event of a stream. */
  readonly first: boolean
}

export type { NotApplicableReason }

/** Records a fault that was sampled and asked, but could not act. */
export interface NotApplicableRecord extends FaultRef {
  readonly reason: NotApplicableReason
}

/** Receives the effects of faults. Must not throw. */
export interface FaultListener {
  injected(record: InjectedRecord): void
  /** Returns the faults that took effect on a call so far, those of the whole exchange among them. */
  effectsOn?(call: Call): readonly FaultEffect[]
  notApplicable(record: NotApplicableRecord): void
  /** Reports a message that repeats a word which a fault put into a result. */
  canaryReturned(call: Call): void
  /** Reports a fault that threw; its messages continue unchanged. */
  failed(ref: FaultRef, error: unknown): void
}
