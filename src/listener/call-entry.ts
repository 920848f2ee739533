import type { Call, Outcome } from '../mcp/call.ts'
import type { Exchange } from './exchange.ts'
import type { FaultRun } from './faults/fault-run.ts'

/** Tells clients apart that have no session. */
export type Caller = Pick<Exchange, 'head' | 'peer'>

/** One call on its way from request to outcome. */
export interface CallEntry {
  readonly call: Call
  /** Empty for a call of no session. */
  readonly session: string
  /** Kept where no session tells the client from others. */
  readonly caller: Caller | undefined
  readonly receivedAt: number
  /** The first 55 characters of a valid `traceparent` that came with the request. */
  readonly trace: string | undefined
  /** When it went to the app; negative before. */
  sentAt: number
  /** When the app's response to it was there, where a fault may keep it; negative before. */
  respondedAt: number
  /** What rules do to it; undefined when none hit it. */
  faults: FaultRun | undefined
  /** The HTTP exchange that carried the request is still open. */
  exchangeOpen: boolean
  settled: boolean
  /** When the client left an exchange whose call may still be answered elsewhere; negative before. */
  leftAt: number
  /** The outcome of the call when it ends without a response. */
  fallback: Outcome
  newer: CallEntry | undefined
  older: CallEntry | undefined
}
