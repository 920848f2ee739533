import type { HeaderLines } from '../../../http/headers.ts'
import type { Failure } from '../../../http/transfer.ts'
import { PieceQueue } from './piece-queue.ts'

/** With more than this waiting, the sender is asked to pause. */
const HIGH_WATER = 64 * 1024

/** The response was broken off: whoever reads it is to see no end where there was none. */
export class BrokenOff extends Error {
  readonly code = 'SQUALL_BROKEN_OFF'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Where the bytes of a response wait to be taken. */
export class ChunkQueue extends PieceQueue<Uint8Array> {
  trailers: HeaderLines = []

  /** `relieved` is called when there is room again. */
  constructor(relieved: () => void) {
    super({ sizeOf: ({ length }) => length, highWater: HIGH_WATER, relieved })
  }

  /** Nothing more will come; what waits is still taken. */
  close(trailers: HeaderLines): void {
    this.trailers = trailers
    this.end(undefined)
  }

  /** Nothing more will come, and that is not the end: told after what waits is taken. */
  break(failure: Failure): void {
    this.end(new BrokenOff(failure))
  }
}
