import type { Call, Outcome } from '../mcp/call.ts'
import type { FaultRun } from './faults/fault-run.ts'

/** One call on its way from request to outcome. */
export interface CallEntry {
  readonly call: Call
  readonly session: string
  readonly receivedAt: number
  /** The first 55 characters of a valid `traceparent` that came with the request. */
  readonly trace: string | undefined
  /** When it went to the app; negative before. */
  sentAt: number
  /** When the app's answer to it was there, where a fault may keep it; negative before. */
  answeredAt: number
  /** What rules do to it; undefined when none hit it. */
  faults: FaultRun | undefined
  /** The HTTP exchange that carried the request is still open. */
  exchangeOpen: boolean
  settled: boolean
  /** What the call counts as when nobody answers it any more. */
  fallback: Outcome
}
