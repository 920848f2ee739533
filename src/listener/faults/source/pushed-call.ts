import type { Call } from '../../../mcp/call.ts'
import type { CallFaults } from '../call-faults.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { ResponseCheck } from '../chain/fault-chain.ts'

/** A call with faults whose response comes on a stream instead of its own exchange. */
export interface PushedCall {
  readonly call: Call
  readonly faults: CallFaults
  /** Returns the reason for which a verdict cannot be carried out. */
  readonly check: ResponseCheck
  /** Records that the app has responded. */
  responded(): void
  /** Stops the faults; held events continue unchanged. */
  wake(): void
  /** Reports that the stream ended; the events may come again on another one. */
  lost(): void
}

/** Reaches the open streams of sessions, on which the responses to their calls may arrive. */
export interface PushChannel {
  /** Sends whole events on a session's stream, between two of the app's; returns false without a stream. */
  send(session: string, bytes: Uint8Array): boolean
  /** Sends the call's events through its faults; returns the reason when that is impossible. */
  arm(session: string, pushed: PushedCall): NotApplicableReason | undefined
  /** Releases a settled call; `done` is called when its faults hold no events. */
  release(session: string, pushed: PushedCall, done: () => void): void
}
