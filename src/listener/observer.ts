import type { ChunkRun } from '../http/chunk-run.ts'
import type { HeaderLines, ResponseHead } from '../http/headers.ts'
import type { Failure } from '../http/transfer.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** Limits of what an observer may keep. */
export interface ObserverBounds {
  /** Longer responses, and longer events of a stream, are not read. */
  readonly limit: number
  readonly memory: MemoryBudget
}

/** Watches a response go by. It changes nothing and may fail without anyone noticing. */
export interface Observer {
  head(head: ResponseHead): void
  data(chunk: Uint8Array): void
  /** As `data` for each chunk of a run. */
  chunks(run: ChunkRun): void
  end(trailers: HeaderLines): void
  fail(failure: Failure): void
  /** The client left before the end. */
  gone(): void
}
