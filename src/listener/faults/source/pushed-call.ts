import type { Call } from '../../../mcp/call.ts'
import type { CallRun } from '../call-run.ts'
import type { NotApplicableReason } from '../fault-events.ts'
import type { ResponseCheck } from '../chain/fault-chain.ts'

/** A call with faults on its response, which comes by a stream that is not its own exchange's. */
export interface PushedCall {
  readonly call: Call
  readonly run: CallRun
  /** Why a verdict on it cannot be carried out. */
  readonly check: ResponseCheck
  /** The app's response is there. */
  responded(): void
  /** Its faults are to let go of what they hold, which then passes untouched. */
  wake(): void
  /** The stream that its events were on is over: they may come again by another one. */
  lost(): void
}

/** Leads events on the streams of sessions through the faults of calls made elsewhere. */
export interface PushChainsOf {
  /** From here on the call's events go through its faults. Gives the reason where they cannot. */
  arm(session: string, pushed: PushedCall): NotApplicableReason | undefined
  /** The call has ended. `done` is told when its faults hold nothing of it any more. */
  release(session: string, pushed: PushedCall, done: () => void): void
}
