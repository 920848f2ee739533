import type { ChunkRun } from './chunk-run.ts'
import type { HeaderLines, RequestHead, ResponseHead } from './headers.ts'

/** A request body that is still arriving, or is chunked. */
export interface StreamBody extends AsyncIterable<Uint8Array> {
  /** Declared length; undefined means chunked. */
  readonly length: number | undefined
  /** Returns the trailer lines, after the stream has ended. */
  trailers(): HeaderLines
}

/** A request body: none, the whole body with a declared length, or a stream. */
export type Body = null | Uint8Array | StreamBody

/** The reason for which an upstream gave no response, or an incomplete one. */
export type FailureKind =
  /** No connection could be made: nothing was sent. */
  | 'connect'
  /** Squall's own bound on upstream connections was met: nothing was sent. */
  | 'overload'
  /** The upstream reset the connection (RST). */
  | 'reset'
  /** The upstream closed the connection before its response was whole (FIN). */
  | 'closed'
  /** The upstream's response is not valid HTTP. */
  | 'protocol'
  /** Squall itself failed. */
  | 'internal'

/** A failed transfer. */
export interface Failure {
  readonly kind: FailureKind
  readonly message: string
  /** The error inside Squall, which only the log shows. */
  readonly error?: unknown
  /** The cause and its fix, for the log. */
  readonly hint?: string
}

/**
 * Receives one response in this order: info*, head, data*, then end or fail. `fail` may come at any
 * point.
 */
export interface ResponseSink {
  /** Receives an interim response (1xx). */
  info(head: ResponseHead): void
  /** Receives the head; with `whole` the rest of the response follows synchronously. */
  head(head: ResponseHead, whole?: boolean): void
  /** False asks the sender to pause until `Transfer.resume`. */
  data(chunk: Uint8Array): boolean
  /** Receives a run of chunks; a sink without this method gets `data` for each chunk. */
  chunks?(run: ChunkRun): boolean
  end(trailers: HeaderLines): void
  fail(failure: Failure): void
}

/** Controls a request in flight. */
export interface Transfer {
  /** Continues after `data` returned false. */
  resume(): void
  /** Drops the connection after the client has left; the sink is not called again. */
  abort(): void
}

/** Sends requests. */
export interface Upstream {
  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer
}
