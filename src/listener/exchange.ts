import type { ChunkRun } from '../http/chunk-run.ts'
import type { HeaderLines, RequestHead, ResponseHead } from '../http/headers.ts'
import type { Body } from '../http/transfer.ts'
import type { Rejection } from './rejection.ts'

/** A way to end the client's connection during a response. */
export type Cut = 'rst' | 'fin'

/** Writes the response to the client. */
export interface ClientResponse {
  /** True when nothing more will be written. */
  readonly ended: boolean
  /** True once the head is sent: from then on only a cut can report an error. */
  readonly started: boolean
  info(head: ResponseHead): void
  /** Writes the head; with `whole` the rest of the response follows synchronously. */
  head(head: ResponseHead, whole?: boolean): void
  /** Writes a part of the body; false asks for a pause until `drained`. */
  data(chunk: Uint8Array): boolean
  /** Writes a run of chunks, like `data`. */
  chunks(run: ChunkRun): boolean
  end(trailers: HeaderLines): void
  /** Ends the client's connection: written bytes arrive before a `fin`, but not before an `rst`. */
  cut(how: Cut): void
  /** Ends the connection after this response and reads no more from it. */
  closeAfter(): void
}

/** Receives the events of a client during a response. */
export interface ExchangeListener {
  /** The client accepts data again after `data` returned false. */
  drained(): void
  /** The tick in which the head was written has ended. */
  tickEnded(): void
  /**
   * The client's connection ended before the response was complete, or the rest of the request is
   * rejected.
   */
  gone(rejection?: Rejection): void
  /** Squall ends the connection of a client that does not read, because memory is short. */
  dropped(): void
}

/** The reason for not reading a body. */
export type UnreadReason = 'too_large' | 'memory'

/** Reads the request's body on demand. */
export interface IncomingBody {
  /**
   * Reads up to `limit` bytes; passes null and the reason when the body is larger, or memory is
   * short. The bytes are kept for `forSending`.
   */
  collect(limit: number, done: (bytes: Uint8Array | null, reason?: UnreadReason) => void): void
  /** The collected bytes while the exchange is open; undefined for an incomplete body. */
  readonly kept: Uint8Array | undefined
  /** Returns the whole body: the collected bytes and the rest. */
  forSending(): Body
}

/** One HTTP request and its response, independent of the HTTP server. */
export interface Exchange {
  readonly head: RequestHead
  readonly body: IncomingBody
  readonly response: ClientResponse
  /** The client's address while the connection is open. */
  readonly peer: string | undefined
  listener: ExchangeListener | undefined
  /** Records that the client accepts no more data for now. */
  stall(): void
}
