import type { Room } from '../../../base/room.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import type { Call } from '../../../mcp/call.ts'
import type { Message } from '../../../mcp/json-rpc.ts'
import type { ExchangeContext } from '../exchange-context.ts'
import type { FaultListener, NotApplicableReason } from '../fault-events.ts'
import type { Stop } from './stop.ts'

/** The position of a message among the others of its stream. */
export interface StreamPosition {
  /** True when another message waits for this one. */
  readonly overtakes: boolean
  /** True when the next message has passed. */
  readonly isOvertaken: boolean
  /** Returns what ends the wait for the next message. */
  wait(): Stop
}

/** Provides the state of the call on which a fault acts. */
export interface ActiveFaultOwner {
  readonly call: Call | undefined
  readonly exchangeContext: ExchangeContext
  /** Aborted when the client leaves, the sidecar drains, or the exchange ends. */
  readonly stop: Stop
  /** The head of the app's response, if it belongs to this call alone. */
  readonly response: ResponseHead | undefined
  readonly listener: FaultListener
  /** Undefined for a message that is not on a stream. */
  readonly position: StreamPosition | undefined
  /** Counts the memory that faults hold. */
  readonly memory: Room
  reserve(bytes: number): NotApplicableReason | undefined
  onWait(): void
  /** Called when a fault takes effect, with the message of a response that it took last. */
  onEffect(taken: Message | undefined): void
  /** Adds a marker to the next message, or with `onHead` to the head. */
  addMarker(marker: string, onHead: boolean): void
}

/** The reason for which a verdict cannot be carried out, possibly known later. */
export type Inapplicable =
  NotApplicableReason | undefined | Promise<NotApplicableReason | undefined>
