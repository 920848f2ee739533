import type { ChunkRun } from '../http/chunk-run.ts'
import type { HeaderLines, ResponseHead } from '../http/headers.ts'
import type { Failure } from '../http/transfer.ts'
import type { Origin, Outcome } from '../mcp/call.ts'
import type { Explained } from './ended-call.ts'

/** Observes a response without changing it; a failing observer does not affect the response. */
export interface Observer {
  /** True while the response should arrive no faster, because too many bytes were not read yet. */
  readonly behind?: boolean
  head(head: ResponseHead): void
  data?(chunk: Uint8Array): void
  /** Observes a run of chunks, like `data`. */
  chunks?(run: ChunkRun): void
  end(trailers: HeaderLines): void
  fail(failure: Failure): void
  /** Reports that the client left before the end. */
  gone(): void
  /** Settles what is open, because Squall or a fault ended the exchange. */
  settle(outcome: Outcome, origin: Origin, error: Explained): void
}
