import type { Message } from '../../../mcp/json-rpc.ts'
import type { Frame, InjectedReply } from '../../../filters/fault.ts'
import { Fifo } from '../../../base/fifo.ts'
import type { ByteBudget } from '../../../base/byte-budget.ts'
import { SLICE, nextLoop } from '../../../base/event-loop.ts'

/**
 * A frame in the chain of a call. Faults see events and bodies. Sealed frames skip the rest of the
 * chain: replies of faults, and pieces of events that are too large to hold. Quiet frames have no
 * fields, such as a comment, and keep their position. A response that no fault can read is `unread`;
 * a fault may replace it as a whole.
 */
export interface ChainFrame {
  readonly kind: Frame['kind'] | 'sealed' | 'quiet' | 'unread'
  readonly raw: Uint8Array
  readonly message?: Message | undefined
  readonly last?: boolean
  /** The messages of an event that has several. */
  readonly batch?: readonly Message[]
  /** The id of the event, which a replacement must keep, because clients resume by it. */
  readonly eventId?: string | undefined
  /** The reply of a fault in the place of the frame. */
  readonly reply?: InjectedReply
  /** False when the next frame continues the same event. */
  readonly ends?: boolean
}

/** A part of a response as the upstream sent it. */
export type UpstreamFrame = Frame & ChainFrame

export function upstreamFrame(
  kind: Frame['kind'],
  raw: Uint8Array,
  message: Message | undefined,
  last: boolean,
  eventId?: string,
): UpstreamFrame {
  return { kind, raw, message, last, eventId }
}

/**
 * Returns the frame of a reply in the place of another one. A frame that a fault has changed keeps
 * its event id.
 */
export function repliedFrame({ raw, eventId }: ChainFrame, reply: InjectedReply): ChainFrame {
  return { kind: 'sealed', raw, eventId, reply }
}

/** The frames between two faults. */
export type FrameFlow = AsyncIterator<ChainFrame, undefined>

/** Returns true for frames that faults see. */
export function isOpen(frame: ChainFrame): frame is UpstreamFrame {
  return frame.kind === 'event' || frame.kind === 'body'
}

/** The waiting pieces, of any size, beyond which the sender is asked to pause. */
const MOST_PIECES = 1024

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

interface Reader<Piece> {
  readonly resolve: (result: IteratorResult<Piece, undefined>) => void
  readonly reject: (error: Error) => void
}

/** Memory of a frame in addition to its bytes. */
const FRAME = 256
/** The memory of a frame's bytes and its parsed message, as a multiple of the bytes. */
const PARSED = 3

/**
 * Queues the pieces of a response for its faults. Each piece costs the same, however many wait, and
 * other calls are served after a slice of pieces.
 */
export class PieceQueue<Piece extends ChainFrame | Uint8Array> implements AsyncIterator<
  Piece,
  undefined
> {
  /** Called when there is room again. */
  protected readonly onDrain: () => void
  readonly #highWater: number
  readonly #memory: ByteBudget | undefined
  readonly #waiting = new Fifo<Piece>()
  readonly #readers = new Fifo<Reader<Piece>>()
  #size = 0
  #closed = false
  #failure: Error | undefined
  /** The pieces read since the reader last waited. */
  #taken = 0
  /** Pending while other calls are served. */
  #pause: Promise<void> | undefined

  /** The sender is asked to pause while more than `highWater` bytes wait. */
  constructor(highWater: number, onDrain: () => void, memory?: ByteBudget) {
    this.#highWater = highWater
    this.onDrain = onDrain
    this.#memory = memory
  }

  /** The waiting bytes. */
  get size(): number {
    return this.#size
  }

  /** True while the sender must pause. */
  get behind(): boolean {
    return this.#size > this.#highWater || this.#waiting.length > MOST_PIECES
  }

  /** True when the input has ended. */
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
    const size = sizeOf(piece)
    this.#size += size
    this.#memory?.take(size * PARSED + FRAME)
  }

  /** Drops all waiting pieces and ends the input. */
  drop(): void {
    this.#memory?.give(this.#size * PARSED + this.#waiting.length * FRAME)
    this.#waiting.clear()
    this.#size = 0
    this.#failure = undefined
    this.close()
  }

  next(): Promise<IteratorResult<Piece, undefined>> {
    // Readers are served in order, also while the first one waits for other calls.
    if (this.#pause !== undefined) return this.#pause.then(() => this.next())
    if (this.#waiting.length > 0) {
      if (++this.#taken < SLICE) return Promise.resolve(this.#take())
      this.#taken = 0
      this.#pause = nextLoop().then(() => (this.#pause = undefined))
      return this.#pause.then(() => this.next())
    }
    this.#taken = 0
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#closed) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }))
  }

  /** Ends the input; waiting pieces are still read, then `failure` is reported. */
  close(failure?: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#failure = failure
    for (const { resolve, reject } of this.#readers.takeAll()) {
      if (failure === undefined) resolve(DONE)
      else reject(failure)
    }
  }

  #take(): IteratorResult<Piece, undefined> {
    const wasBehind = this.behind
    const value = this.#waiting.shift()!
    const size = sizeOf(value)
    this.#size -= size
    this.#memory?.give(size * PARSED + FRAME)
    if (wasBehind && !this.behind) this.onDrain()
    return { done: false, value }
  }
}

function sizeOf(piece: ChainFrame | Uint8Array): number {
  return piece instanceof Uint8Array ? piece.length : piece.raw.length
}

/** The waiting bytes of frames beyond which the sender is asked to pause. */
const HIGH_WATER = 16 * 1024

/** Queues frames for a chain. */
export class FrameQueue extends PieceQueue<ChainFrame> {
  #resume: (() => void) | undefined

  /** `onDrain` is called when the queue has room again. */
  constructor(onDrain: () => void, memory?: ByteBudget) {
    const drained = (): void => {
      this.#resume?.()
      this.#resume = undefined
      onDrain()
    }
    super(HIGH_WATER, drained, memory)
  }

  override drop(): void {
    super.drop()
    this.onDrain()
  }

  /** Takes a frame; resolves when the queue has room, and returns undefined when it has. */
  take(frame: ChainFrame): Promise<void> | undefined {
    this.push(frame)
    if (!this.behind) return undefined
    return new Promise((resolve) => (this.#resume = resolve))
  }
}
