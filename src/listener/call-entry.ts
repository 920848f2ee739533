import type { Call, Outcome } from '../mcp/call.ts'

/** One call on its way from request to outcome. */
export interface CallEntry {
  readonly call: Call
  readonly session: string
  readonly receivedAt: number
  sentAt: number
  /** The HTTP exchange that carried the request is still open. */
  exchangeOpen: boolean
  settled: boolean
  /** What the call counts as when nobody answers it any more. */
  fallback: Outcome
}
