import { Fifo } from '../../../base/fifo.ts'
import type { Room } from '../../../base/room.ts'
import { nextLoop, SLICE } from '../../event-loop.ts'

/** With more pieces than this waiting, the sender is asked to pause, however small they are. */
const MOST_PIECES = 1024

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

interface Reader<Piece> {
  readonly resolve: (result: IteratorResult<Piece, undefined>) => void
  readonly reject: (error: Error) => void
}

/** When a sender is asked to pause, and to go on. */
export interface QueueBounds<Piece> {
  readonly sizeOf: (piece: Piece) => number
  /** Returns how much of the shared memory a piece takes. */
  readonly paramsWeight?: (piece: Piece) => number
  readonly memory?: Room
  /** With more bytes than this waiting, the sender is asked to pause. */
  readonly highWater: number
  /** Called when there is room again. */
  readonly relieved: () => void
}

/**
 * Where pieces of a response wait for its faults: pushed on one side, pulled on the other. Each piece
 * costs the same however many wait, and after some of them other calls have a turn.
 */
export class PieceQueue<Piece> implements AsyncIterator<Piece, undefined> {
  readonly #bounds: QueueBounds<Piece>
  readonly #waiting = new Fifo<Piece>()
  readonly #readers = new Fifo<Reader<Piece>>()
  #size = 0
  #weight = 0
  #closed = false
  #failure: Error | undefined
  /** How many pieces were taken since the reader last had to wait. */
  #taken = 0
  /** Set while other calls have a turn. */
  #turn: Promise<void> | undefined

  constructor(bounds: QueueBounds<Piece>) {
    this.#bounds = bounds
  }

  /** How many bytes wait. */
  get size(): number {
    return this.#size
  }

  /** True while the reader is too far behind to be given more. */
  get behind(): boolean {
    return this.#size > this.#bounds.highWater || this.#waiting.length > MOST_PIECES
  }

  /** True when nothing more will be pushed. */
  get closed(): boolean {
    return this.#closed
  }

  push(piece: Piece): void {
    if (this.#closed) return
    const reader = this.#readers.shift()
    if (reader !== undefined) {
      reader.resolve({ done: false, value: piece })
      return
    }
    this.#waiting.push(piece)
    this.#size += this.#bounds.sizeOf(piece)
    const weight = this.#bounds.paramsWeight?.(piece) ?? 0
    this.#weight += weight
    this.#bounds.memory?.take(weight)
  }

  /** Lets go of everything. */
  drop(): void {
    this.#waiting.clear()
    this.#size = 0
    this.#bounds.memory?.give(this.#weight)
    this.#weight = 0
    this.#failure = undefined
    this.end(undefined)
  }

  next(): Promise<IteratorResult<Piece, undefined>> {
    // First come, first served, also where the first one waits for other calls.
    if (this.#turn !== undefined) return this.#turn.then(() => this.next())
    if (this.#waiting.length > 0) {
      if (++this.#taken < SLICE) return Promise.resolve(this.#take())
      this.#taken = 0
      this.#turn = nextLoop().then(() => (this.#turn = undefined))
      return this.#turn.then(() => this.next())
    }
    this.#taken = 0
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#closed) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }))
  }

  /** Nothing more will come; what waits is still taken. A failure is given behind it. */
  protected end(failure: Error | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#failure = failure
    for (const { resolve, reject } of this.#readers.takeAll()) {
      if (failure === undefined) resolve(DONE)
      else reject(failure)
    }
  }

  /** Called when there is room again. */
  protected relieved(): void {
    this.#bounds.relieved()
  }

  #take(): IteratorResult<Piece, undefined> {
    const wasBehind = this.behind
    const value = this.#waiting.shift()!
    this.#size -= this.#bounds.sizeOf(value)
    const weight = this.#bounds.paramsWeight?.(value) ?? 0
    this.#weight -= weight
    this.#bounds.memory?.give(weight)
    if (wasBehind && !this.behind) this.relieved()
    return { done: false, value }
  }
}
