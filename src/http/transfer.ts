import type { ChunkRun } from './chunk-run.ts'
import type { HeaderLines, RequestHead, ResponseHead } from './headers.ts'

/** A request body that is still arriving, or that came in chunks. */
export interface StreamBody extends AsyncIterable<Uint8Array> {
  /** Declared length; undefined means chunked. */
  readonly length: number | undefined
  /** Trailer lines, known once the stream has ended. */
  trailers(): HeaderLines
}

/** A request body: none, all of it with a declared length, or a stream. */
export type Body = null | Uint8Array | StreamBody

/** Why an upstream could not answer, or not to the end. */
export type FailureKind =
  /** No connection could be made: nothing was sent. */
  | 'connect'
  /** Squall's own bound on upstream connections was met: nothing was sent. */
  | 'overload'
  /** The app reset the connection (RST). */
  | 'reset'
  /** The app closed the connection before its response was whole (FIN). */
  | 'closed'
  /** What the app sent is not HTTP. */
  | 'protocol'

/** A failed transfer. */
export interface Failure {
  readonly kind: FailureKind
  readonly message: string
}

/** Takes one response, in this order: info*, head, data*, then end or fail. `fail` may come at any point. */
export interface ResponseSink {
  /** A 1xx answer. */
  info(head: ResponseHead): void
  /** With `whole` the rest of the response follows before anything else happens. */
  head(head: ResponseHead, whole?: boolean): void
  /** False asks the sender to pause until `Transfer.resume`. */
  data(chunk: Uint8Array): boolean
  /** As `data` for each chunk of a run; who has it not is given the chunks. */
  chunks?(run: ChunkRun): boolean
  end(trailers: HeaderLines): void
  fail(failure: Failure): void
}

/** A request under way. */
export interface Transfer {
  /** Go on after `data` answered false. */
  resume(): void
  /** The client is gone: drop the connection, call the sink no more. */
  abort(): void
}

/** Where requests go. */
export interface Upstream {
  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer
}
