import { ENDLESS, type Room } from '../../../base/room.ts'
import type { ChainFrame } from './frame.ts'
import { PieceQueue } from './piece-queue.ts'

/** The waiting bytes beyond which the sender is asked to pause. */
const HIGH_WATER = 16 * 1024
/** Memory of a frame in addition to its bytes. */
const FRAME = 256
/** The memory of a frame's bytes and its parsed message, as a multiple of the bytes. */
const PARSED = 3

/** Queues frames for a chain. */
export class FrameQueue extends PieceQueue<ChainFrame> {
  #room: (() => void) | undefined

  /** `onDrain` is called when the queue has room again. */
  constructor(onDrain: () => void = () => undefined, memory: Room = ENDLESS) {
    super({
      sizeOf: ({ raw }) => raw.length,
      weightOf: ({ raw }) => raw.length * PARSED + FRAME,
      memory,
      highWater: HIGH_WATER,
      onDrain,
    })
  }

  /** Closes the queue; waiting frames are still read. */
  close(): void {
    this.end(undefined)
  }

  override drop(): void {
    super.drop()
    this.onDrain()
  }

  /** Resolves when the queue has room; returns undefined when it has. */
  room(): Promise<void> | undefined {
    if (!this.behind) return undefined
    return new Promise((resolve) => (this.#room = resolve))
  }

  protected override onDrain(): void {
    this.#room?.()
    this.#room = undefined
    super.onDrain()
  }
}
