import type { RequestHead } from '../../http/headers.ts'
import type { Body, ResponseSink, Transfer } from '../../http/transfer.ts'
import type { CallEntry } from '../call-entry.ts'
import type { SendBarrier } from '../send-barrier.ts'

/** A request as the upstream gets it. */
export interface Outgoing {
  readonly head: RequestHead
  readonly body: Body
  /** The calls that are sent with it; none for a request of Squall itself. */
  readonly entries?: readonly CallEntry[]
  /** The requests that this one must not overtake. */
  readonly barriers?: readonly SendBarrier[] | undefined
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
