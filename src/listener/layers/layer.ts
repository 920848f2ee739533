import type { RequestHead } from '../../http/headers.ts'
import type { Body, Failure, ResponseSink, Transfer, Upstream } from '../../http/transfer.ts'
import type { classifyBody } from '../../mcp/classify.ts'
import type { Transport } from '../../mcp/call.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { CallEntry } from '../call-entry.ts'
import type { FaultPlanner } from '../faults/fault-planner.ts'
import type { PushStreams } from '../faults/source/push-streams.ts'
import type { InFlightRequests } from '../in-flight-requests.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { PortSessions } from '../port-sessions.ts'
import type { PublicAddress } from '../public-address.ts'
import type { RareLog } from '../rare-log.ts'
import type { SendBarrier } from '../send-barrier.ts'
import type { TrustedMarkers } from '../trusted-markers.ts'

/** A request as the upstream gets it. */
export interface Outgoing {
  readonly head: RequestHead
  readonly body: Body
  /** The calls that are sent with it; empty for a request of Squall itself. */
  readonly entries: readonly CallEntry[]
  /** The requests that this one must not overtake. */
  readonly barriers: readonly SendBarrier[] | undefined
}

/** Carries a request towards the upstream; the response comes to the sink. */
export interface Service<Request, Sink extends ResponseSink = ResponseSink> {
  /**
   * Returns the control of the response: `NO_TRANSFER` when there is none, because a layer has
   * rejected the request or waits for its body.
   */
  send(request: Request, sink: Sink): Transfer
}

/**
 * Wraps a service. A layer gets the request with what the layers above it have found, and passes
 * on what it has found itself; it wraps the sink to change the response. A layer that has nothing
 * to do returns the service as it is.
 */
export type Layer<Outer, Inner = Outer> = (inner: Inner) => Outer

/** Controls a request that is not in flight. */
export const NO_TRANSFER: Transfer = { resume: () => undefined, abort: () => undefined }

/** Stacks layers: the last one gets the request first. */
export class Stack<Top> {
  readonly top: Top

  constructor(top: Top) {
    this.top = top
  }

  add<Outer>(layer: Layer<Outer, Top>): Stack<Outer> {
    return new Stack(layer(this.top))
  }
}

/** The parts of a port that its layers share. */
export interface StackParts {
  readonly upstream: Upstream
  readonly inFlight: InFlightRequests
  readonly sessions: PortSessions
  readonly markers: TrustedMarkers
  readonly telemetry: Telemetry
  readonly logger: Logger
  readonly rareLog: RareLog
  readonly memory: MemoryBudget
  readonly now: () => number
  /** Called for responses that a wrong address or protocol of the upstream would explain. */
  readonly suspect?: ((failure?: Failure) => void) | undefined
  /** Undefined when no rule can become active. */
  readonly planner?: FaultPlanner | undefined
  /** The push streams, on which faults act on responses that arrive there. */
  readonly push?: PushStreams | undefined
  /** Undefined when the clients use the address of the upstream. */
  readonly publicAddress?: PublicAddress | undefined
  /** The transport of a session whose responses come on its stream. */
  readonly streamTransport: Transport
  /** The largest body that is read. */
  readonly maxBody: number
  /** The longest wait for requests that must not be overtaken, in milliseconds. */
  readonly holdTimeout: number
  /**
   * Fails a request that could not be read because of an internal error, instead of forwarding it.
   */
  readonly strict: boolean
  /** Replaces `classifyBody` in tests. */
  readonly classify?: typeof classifyBody
}
