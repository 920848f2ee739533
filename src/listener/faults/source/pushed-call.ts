import type { Call } from '../../../mcp/call.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { CallFaults } from '../call-faults.ts'
import type { ResponseCheck } from '../chain/fault-chain.ts'

/** A call with faults whose response comes on a stream instead of its own exchange. */
export interface PushedCall {
  readonly call: Call
  readonly faults: CallFaults
  /** Returns the reason for which a verdict cannot be carried out. */
  readonly check: ResponseCheck
  /** Records that the upstream has responded. */
  responded(): void
  /** Stops the faults; held events continue unchanged. */
  wake(): void
  /** Reports that the stream ended; the events may come again on another one. */
  lost(): void
}

/** The calls of a session whose faults await a response on one of its streams. */
export interface StreamSession {
  readonly key: string
  /** True while the streams must be read event by event. */
  readonly armed: boolean
  /** Returns the call of a response or a progress report, if that is certain. */
  ownerOf(message: Message | undefined): PushedCall | undefined
  remove(pushed: PushedCall): boolean
}

/** Knows the open streams of each session. */
export interface StreamRegistry<Stream> {
  join(key: string, stream: Stream): StreamSession
  leave(session: StreamSession, stream: Stream): void
}
