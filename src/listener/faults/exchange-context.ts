import type { FalseUse } from '../falsified/false-values.ts'
import type { FaultHost } from '../../filters/fault.ts'
import type { RequestHead } from '../../http/headers.ts'
import type { Call } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import type { ExchangeFacts } from '../../rules/match/call-facts.ts'
import type { OpenCall } from '../side-faults.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { NotApplicableReason } from '../../filters/lib/not-applicable.ts'
import type { FaultEffect } from '../../telemetry/telemetry.ts'

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
  /** Rejects further requests of the session, if there is one. */
  expireSession(session: string | undefined, by: FaultOrigin): void
  /** Returns true when a fault or the upstream has ended the session. */
  hasSessionEnded(session: string | undefined): boolean
  /** Returns the effects beyond the call; `endsIn` are the milliseconds until the rule expires. */
  hostFor(by: FaultOrigin, entry: OpenCall | undefined, endsIn: () => number): FaultHost
}

/** A request whose response may have faults; without calls it has no optional parts. */
export interface FaultedExchange {
  readonly head: RequestHead
  /** The size of the request's body in bytes. */
  readonly requestBytes: number
  readonly posted?: PostedMessages
  /** The memory of the calls that the budget has counted. */
  readonly weight?: number
  /** By `performance.now()`; delays are counted from then. */
  readonly receivedAt?: number
  /** The records of its calls. */
  readonly entries: readonly OpenCall[]
}

/** The parts of the listener that all exchanges with faults share. */
export interface InjectionParts {
  /** The largest response that is held for faults that need all of it. */
  readonly maxBody: number
  /** The time for which a response is held; a response at the least rate may take longer. */
  readonly holdTimeout: number
  readonly memory: MemoryBudget
  /** Sends whole events on the stream of a session; returns false when that is impossible. */
  readonly push: { send(session: string, bytes: Uint8Array, begin: () => void): boolean }
  /** Aborted when the listener drains or closes: copies and streams end then. */
  readonly closing: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly control: ExchangeControl
  /** Returns the `outputSchema` of a tool, if the client has listed it. */
  readonly outputSchemaOf?: (tool: string | undefined) => unknown
}

/** Facts that all faults of one exchange share. */
export interface ExchangeContext {
  readonly facts: ExchangeFacts
  readonly exchange: FaultedExchange
  readonly parts: InjectionParts
  readonly listener: FaultListener
  /** The call, or else the stream, to which a message of the server belongs. */
  readonly group?: object | undefined
}

/** Identifies a fault of a rule, and the call. */
export interface FaultRef {
  readonly rule: string
  readonly fault: string
  /** Undefined when an HTTP rule matched an exchange without a call. */
  readonly call: Call | undefined
}

/** Stands for errors that belong to no fault. */
export const NO_FAULT: FaultRef = { rule: '', fault: '', call: undefined }

/** Records an effect of a fault. */
export interface InjectedRecord extends FaultRef {
  /** The effect, if the fault states more than its name. */
  readonly effect: string | undefined
  /** The intended delay in milliseconds, if any. */
  readonly delayMs: number | undefined
  /** False when the fault took effect on the call before, as with each event of a stream. */
  readonly first: boolean
  /** True for a later request that the effect on a sampled call reaches: not counted again. */
  readonly isLater?: true
}

export type { NotApplicableReason }

/** Records a fault that was sampled and asked, but could not act. */
export interface NotApplicableRecord extends FaultRef {
  readonly reason: NotApplicableReason
}

/** Receives the effects of faults. Must not throw. */
export interface FaultListener {
  injected(record: InjectedRecord): void
  /** Returns the faults that took effect on a call so far, or on the whole exchange. */
  effectsOn?(call: Call): readonly FaultEffect[]
  notApplicable(record: NotApplicableRecord): void
  /** Reports a message that repeats a word which a fault put into a result. */
  canaryReturned(call: Call): void
  /** Reports a call whose arguments hold a false value. */
  falseValueUsed(call: Call, use: FalseUse): void
  /** Reports a fault that threw; its messages continue unchanged. */
  failed(ref: FaultRef, error: unknown): void
}
