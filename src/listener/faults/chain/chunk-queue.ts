import type { HeaderLines } from '../../../http/headers.ts'
import type { Failure } from '../../../http/transfer.ts'
import { PieceQueue } from './piece-queue.ts'

/** The waiting bytes beyond which the sender is asked to pause. */
const HIGH_WATER = 64 * 1024

/** Reports that the response was cut, so that no reader sees a regular end. */
export class BrokenOff extends Error {
  readonly code = 'SQUALL_BROKEN_OFF'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Queues the bytes of a response. */
export class ChunkQueue extends PieceQueue<Uint8Array> {
  trailers: HeaderLines = []

  /** `onDrain` is called when the queue has room again. */
  constructor(onDrain: () => void) {
    super({ sizeOf: ({ length }) => length, highWater: HIGH_WATER, onDrain })
  }

  /** Closes the queue; waiting bytes are still read. */
  close(trailers: HeaderLines): void {
    this.trailers = trailers
    this.end(undefined)
  }

  /** Closes the queue with a failure, which is reported after the waiting bytes. */
  break(failure: Failure): void {
    this.end(new BrokenOff(failure))
  }
}
