import type { HeaderLines, ResponseHead } from '../../../http/headers.ts'
import type { Failure } from '../../../http/transfer.ts'
import type { FaultRun } from '../fault-run.ts'
import type { Reply } from '../../../mcp/reply.ts'
import type { Coding } from '../../../http/content-coding.ts'
import type { Outlet } from '../emit/outlet.ts'

/** What takes in a response, by its kind. Its end is told by the outlet. */
export interface ResponsePart {
  /** False asks the app to pause until it is resumed. */
  data(chunk: Uint8Array): boolean
  end(trailers: HeaderLines): void
  /** The app broke off: what faults held of its response goes out as it came, and then the client is told. */
  fail(failure: Failure): void
  /** The client takes data again. */
  resume(): void
  /** The response is over for another reason: nothing more is to be sent. */
  stop(): void
}

/** What the kinds of responses work with. */
export interface ResponseSetting {
  readonly run: FaultRun
  readonly outlet: Outlet
  readonly head: ResponseHead
  readonly coding: Coding
  /** Messages that faults have answered other calls of the batch with. */
  readonly replies: readonly Reply[]
  readonly resumeApp: () => void
  /** The client has its response, and what the app still sends is not wanted. */
  readonly dropApp: () => void
}
