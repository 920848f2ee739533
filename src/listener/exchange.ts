import type { ChunkRun } from '../http/chunk-run.ts'
import type { HeaderLines, RequestHead, ResponseHead } from '../http/headers.ts'
import type { Body } from '../http/transfer.ts'

/** How a connection to the client is ended in the middle of a response. */
export type Cut = 'rst' | 'fin'

/** The client's side of one exchange, as a response is written to it. */
export interface ClientResponse {
  /** Nothing more will be written. */
  readonly ended: boolean
  /** True once the head is on its way: from then on an error can only be told by a cut. */
  readonly started: boolean
  info(head: ResponseHead): void
  /** With `whole` the rest follows before anything else happens. */
  head(head: ResponseHead, whole?: boolean): void
  /** False asks for a pause until the listener is told `drained`. */
  data(chunk: Uint8Array): boolean
  /** As `data` for each chunk of a run. */
  chunks(run: ChunkRun): boolean
  end(trailers: HeaderLines): void
  /** Ends the client's connection: bytes already written arrive before a `fin`, not before an `rst`. */
  cut(how: Cut): void
  /** Ends the connection after this response; nothing more is read from it. */
  closeAfter(): void
}

/** Who is told what the client does while it is answered. */
export interface ExchangeListener {
  /** The client takes data again after `data` answered false. */
  drained(): void
  /** The tick in which the head was written is over. */
  tickOver(): void
  /** The client's connection ended before the response was whole. */
  gone(): void
  /** Squall ends the client's connection, because it does not read and memory runs out. */
  dropped(): void
}

/** Why a body is not read. */
export type TooMuch = 'too_large' | 'memory'

/** The request's body, read at the pipeline's will. */
export interface IncomingBody {
  /**
   * Reads up to `limit` bytes; null and the reason when there are more than that, or no memory for
   * them. The bytes read are kept for `forSending`.
   */
  collect(limit: number, done: (bytes: Uint8Array | null, reason?: TooMuch) => void): void
  /** The collected bytes, as long as the exchange is open; undefined where the body is not whole. */
  readonly kept: Uint8Array | undefined
  /** The whole body: what was collected and what is still to come. */
  forSending(): Body
}

/** One HTTP request and its response, free of any server's types. */
export interface Exchange {
  readonly head: RequestHead
  readonly body: IncomingBody
  readonly response: ClientResponse
  /** The address of the client's end of the connection, as long as that is open. */
  readonly peer: string | undefined
  listener: ExchangeListener | undefined
  /** Counts bytes that are kept until the exchange is over; false when there is no room for them. */
  hold(bytes: number): boolean
  /** The client takes no more for now. */
  stall(): void
}
