import type { LaneFrame } from './lane-frame.ts'

/** With more than this waiting, the sender is asked to pause. */
const HIGH_WATER = 16 * 1024

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Where frames wait for the chain to take them: pushed on one side, pulled on the other. */
export class FrameQueue implements AsyncIterator<LaneFrame, undefined> {
  #frames: LaneFrame[] = []
  #size = 0
  #closed = false
  #wanted: ((result: IteratorResult<LaneFrame, undefined>) => void) | undefined
  #room: (() => void) | undefined
  readonly #relieved: () => void

  /** `relieved` is called when there is room again. */
  constructor(relieved: () => void = () => undefined) {
    this.#relieved = relieved
  }

  /** How many bytes wait. */
  get size(): number {
    return this.#size
  }

  /** True while the chain is too far behind to be given more. */
  get behind(): boolean {
    return this.#size > HIGH_WATER
  }

  push(frame: LaneFrame): void {
    if (this.#closed) return
    const wanted = this.#wanted
    if (wanted !== undefined) {
      this.#wanted = undefined
      wanted({ done: false, value: frame })
      return
    }
    this.#frames.push(frame)
    this.#size += frame.raw.length
  }

  /** Nothing more will come; what waits is still taken. */
  close(): void {
    this.#closed = true
    this.#wanted?.(DONE)
    this.#wanted = undefined
  }

  /** Lets go of everything. */
  drop(): void {
    this.#frames = []
    this.#size = 0
    this.close()
    this.#freed()
  }

  /** Resolves when there is room. */
  room(): Promise<void> | undefined {
    if (!this.behind) return undefined
    return new Promise((resolve) => (this.#room = resolve))
  }

  next(): Promise<IteratorResult<LaneFrame, undefined>> {
    const frame = this.#frames.shift()
    if (frame !== undefined) {
      const wasBehind = this.behind
      this.#size -= frame.raw.length
      if (wasBehind && !this.behind) this.#freed()
      return Promise.resolve({ done: false, value: frame })
    }
    if (this.#closed) return Promise.resolve(DONE)
    return new Promise((resolve) => (this.#wanted = resolve))
  }

  #freed(): void {
    this.#room?.()
    this.#room = undefined
    this.#relieved()
  }
}
