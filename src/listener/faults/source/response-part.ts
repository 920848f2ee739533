import type { Coding } from '../../../http/content-coding.ts'
import type { ResponseHead } from '../../../http/headers.ts'
import type { ResponseSink } from '../../../http/transfer.ts'
import type { Reply } from '../../../mcp/reply.ts'
import type { Outlet } from '../emit/outlet.ts'
import type { ExchangeFaults } from '../exchange-faults.ts'

/**
 * Receives a response of one kind; the outlet reports its end. After a cut by the upstream, held
 * bytes are sent unchanged before the failure.
 */
export interface ResponsePart extends Pick<ResponseSink, 'data' | 'end' | 'fail'> {
  resume(): void
  /** Stops without sending more. */
  stop(): void
}

/** Provides the parts that all kinds of responses use. */
export interface ResponseContext {
  readonly faults: ExchangeFaults
  readonly outlet: Outlet
  readonly head: ResponseHead
  /** True when the rest of the response follows the head synchronously. */
  readonly whole: boolean
  readonly coding: Coding
  /** The faults' replies to other calls of the batch. */
  readonly replies: readonly Reply[]
  readonly upstream: UpstreamControl
}

/** Controls the transfer that fills the sink. */
export interface UpstreamControl {
  resume(): void
  /** Drops the rest of the upstream's response. */
  drop(): void
  /** Sends the upstream a message as if the client had posted it. */
  post(text: string): void
}
