import { Fifo } from '../../../base/fifo.ts'
import type { Room } from '../../../base/room.ts'
import { endOfSlice } from '../../../mcp/sse-slice.ts'
import type { EmitFrame, SseFrame } from '../../../mcp/sse-framer.ts'
import { HEAVY, OrderedWork } from '../../event-loop.ts'
import { spendShare } from '../../event-loop.ts'
import { nextLoop } from '../../event-loop.ts'

/** The receiver of a feed. */
export interface FeedEnd {
  /** Cuts the next bytes into events. */
  readonly take: (bytes: Uint8Array, emit: EmitFrame) => void
  /** Reads an event. */
  readonly read: (frame: SseFrame) => void
  /** Called when reading an event failed that had to wait. */
  readonly broke: (error: unknown) => void
  /** True while no more events are wanted. */
  readonly isBehind: () => boolean
  /** Called when the feed can go on after other calls have had a turn. */
  readonly turned: () => void
}

/**
 * Gives the bytes of a stream to whoever cuts them into events, in slices: as few as are wanted, and as
 * many as one turn of the event loop has time for.
 */
export class SseFeed {
  readonly #end: FeedEnd
  readonly #memory: Room
  readonly #waiting = new Fifo<Uint8Array>()
  readonly #reading = new OrderedWork(() => this.#end.turned())
  /** How much of the first of them has been taken. */
  #taken = 0
  /** Other calls have a turn. */
  #isResting = false
  #isBusy = false
  #isDropped = false
  readonly #emit: EmitFrame = (frame) => this.#event(frame)
  #drained: (() => void) | undefined

  constructor(end: FeedEnd, memory: Room) {
    this.#end = end
    this.#memory = memory
  }

  /** True while bytes wait. */
  get behind(): boolean {
    return this.#waiting.length > 0 || this.#reading.busy || this.#isResting
  }

  push(bytes: Uint8Array): void {
    this.#waiting.push(bytes)
    this.#memory.take(bytes.length)
    this.goOn()
  }

  /** Goes on where that is possible. */
  goOn(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      while (this.#waiting.length > 0 && this.#mayGoOn) this.#slice()
    } finally {
      this.#isBusy = false
    }
    if (this.#isEmpty) this.#drained?.()
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> | undefined {
    if (this.#isEmpty) return undefined
    return new Promise((resolve) => (this.#drained = resolve))
  }

  /** Lets go of what waits. */
  drop(): void {
    for (const { length } of this.#waiting.takeAll()) this.#memory.give(length)
    this.#taken = 0
    this.#isDropped = true
    this.#drained?.()
  }

  get #mayGoOn(): boolean {
    return !this.#isResting && !this.#reading.busy && !this.#end.isBehind()
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && !this.#reading.busy
  }

  /** Reads an event: a large one when its turn has come, and nothing more is taken before that. */
  #event(frame: SseFrame): void {
    const { length } = frame.raw
    if (length < HEAVY && !this.#reading.busy) {
      this.#end.read(frame)
      return
    }
    this.#memory.take(length)
    this.#reading.run(length, () => {
      this.#memory.give(length)
      if (this.#isDropped) return
      try {
        this.#end.read(frame)
      } catch (error) {
        this.#end.broke(error)
      }
    })
  }

  #slice(): void {
    const bytes = this.#waiting.first!
    const end = endOfSlice(bytes, this.#taken)
    const slice = bytes.subarray(this.#taken, end)
    this.#taken = end
    if (end === bytes.length) {
      this.#taken = 0
      this.#waiting.shift()
      this.#memory.give(end)
    }
    const begun = performance.now()
    this.#end.take(slice, this.#emit)
    if (spendShare(performance.now() - begun)) this.#rest()
  }

  #rest(): void {
    this.#isResting = true
    void nextLoop().then(() => this.#rested())
  }

  #rested(): void {
    this.#isResting = false
    this.#end.turned()
  }
}
