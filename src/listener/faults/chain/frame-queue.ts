import { ENDLESS, type Room } from '../../../base/room.ts'
import type { ChainFrame } from './frame.ts'
import { PieceQueue } from './piece-queue.ts'

/** With more than this waiting, the sender is asked to pause. */
const HIGH_WATER = 16 * 1024
/** Memory that a frame takes beside its bytes. */
const FRAME = 256
/** A frame has its bytes, and the message in it. */
const PARSED = 3

/** Where frames wait for the chain to take them. */
export class FrameQueue extends PieceQueue<ChainFrame> {
  #room: (() => void) | undefined

  /** `relieved` is called when there is room again. */
  constructor(relieved: () => void = () => undefined, memory: Room = ENDLESS) {
    super({
      sizeOf: ({ raw }) => raw.length,
      paramsWeight: ({ raw }) => raw.length * PARSED + FRAME,
      memory,
      highWater: HIGH_WATER,
      relieved,
    })
  }

  /** Nothing more will come; what waits is still taken. */
  close(): void {
    this.end(undefined)
  }

  override drop(): void {
    super.drop()
    this.relieved()
  }

  /** Resolves when there is room. */
  room(): Promise<void> | undefined {
    if (!this.behind) return undefined
    return new Promise((resolve) => (this.#room = resolve))
  }

  protected override relieved(): void {
    this.#room?.()
    this.#room = undefined
    super.relieved()
  }
}
