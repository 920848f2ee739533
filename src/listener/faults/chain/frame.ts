import type { Message } from '../../../mcp/json-rpc.ts'
import type { Frame, InjectedReply } from '../../../filters/fault.ts'
import { Fifo } from '../../../base/fifo.ts'
import type { Room } from '../../../base/room.ts'
import { SLICE, nextLoop } from '../../../base/event-loop.ts'

/** A part of a response as the upstream sent it. */
export interface UpstreamFrame extends Frame {
  /** The id of the event, which a replacement must keep, because clients resume by it. */
  readonly eventId: string | undefined
  /** The messages of an event that has several. */
  readonly batch?: readonly Message[]
}

export function upstreamFrame(
  kind: Frame['kind'],
  raw: Uint8Array,
  message: Message | undefined,
  last: boolean,
  eventId?: string,
): UpstreamFrame {
  return { kind, raw, message, last, eventId }
}

/** A frame that skips the rest of the chain: a fault's reply, or unreadable bytes. */
export class SealedFrame {
  /** Undefined for bytes that are forwarded unchanged. */
  readonly reply: InjectedReply | undefined
  readonly raw: Uint8Array
  readonly eventId: string | undefined
  /** False when the next frame continues the same event. */
  readonly ends: boolean

  private constructor(
    reply: InjectedReply | undefined,
    raw: Uint8Array,
    eventId: string | undefined,
    ends: boolean,
  ) {
    this.reply = reply
    this.raw = raw
    this.eventId = eventId
    this.ends = ends
  }

  /** Creates a frame that replaces another one by a reply. */
  static instead(of: Frame | UnreadFrame, reply: InjectedReply): SealedFrame {
    // A frame that a fault has changed keeps the id, although it is not an `UpstreamFrame`.
    const { eventId } = of as Partial<UpstreamFrame>
    return new SealedFrame(reply, of.raw, eventId, true)
  }

  /** Creates a frame for a part of an event that is too large to buffer. */
  static piece(raw: Uint8Array, ends: boolean): SealedFrame {
    return new SealedFrame(undefined, raw, undefined, ends)
  }
}

/**
 * Bytes without fields, such as a comment: faults do not see them, and they keep their position.
 */
export class QuietFrame {
  readonly raw: Uint8Array

  constructor(raw: Uint8Array) {
    this.raw = raw
  }
}

/** A response that no fault can read; a fault may replace it as a whole. */
export class UnreadFrame extends QuietFrame {}

/** A frame in the chain of a call. */
export type ChainFrame = Frame | SealedFrame | QuietFrame

/** The frames between two faults. */
export type FrameFlow = AsyncIterator<ChainFrame, undefined>

/** Returns true for frames that faults see. */
export function isOpen(frame: ChainFrame): frame is Frame {
  return !(frame instanceof SealedFrame) && !(frame instanceof QuietFrame)
}

/** The waiting pieces, of any size, beyond which the sender is asked to pause. */
const MOST_PIECES = 1024

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

interface Reader<Piece> {
  readonly resolve: (result: IteratorResult<Piece, undefined>) => void
  readonly reject: (error: Error) => void
}

/** Configures a queue. */
export interface QueueBounds<Piece> {
  readonly sizeOf: (piece: Piece) => number
  /** Returns the memory of a piece in the shared budget. */
  readonly weightOf?: (piece: Piece) => number
  readonly memory?: Room | undefined
  /** The waiting bytes beyond which the sender is asked to pause. */
  readonly highWater: number
  /** Called when there is room again. */
  readonly onDrain: () => void
}

/**
 * Queues the pieces of a response for its faults. Each piece costs the same, however many wait, and
 * other calls are served after a slice of pieces.
 */
export class PieceQueue<Piece> implements AsyncIterator<Piece, undefined> {
  readonly #bounds: QueueBounds<Piece>
  readonly #waiting = new Fifo<Piece>()
  readonly #readers = new Fifo<Reader<Piece>>()
  #size = 0
  #weight = 0
  #closed = false
  #failure: Error | undefined
  /** The pieces read since the reader last waited. */
  #taken = 0
  /** Pending while other calls are served. */
  #pause: Promise<void> | undefined

  constructor(bounds: QueueBounds<Piece>) {
    this.#bounds = bounds
  }

  /** The waiting bytes. */
  get size(): number {
    return this.#size
  }

  /** True while the sender must pause. */
  get behind(): boolean {
    return this.#size > this.#bounds.highWater || this.#waiting.length > MOST_PIECES
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
    this.#size += this.#bounds.sizeOf(piece)
    const weight = this.#bounds.weightOf?.(piece) ?? 0
    this.#weight += weight
    this.#bounds.memory?.take(weight)
  }

  /** Drops all waiting pieces and ends the input. */
  drop(): void {
    this.#waiting.clear()
    this.#size = 0
    this.#bounds.memory?.give(this.#weight)
    this.#weight = 0
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

  /** Called when there is room again. */
  protected onDrain(): void {
    this.#bounds.onDrain()
  }

  #take(): IteratorResult<Piece, undefined> {
    const wasBehind = this.behind
    const value = this.#waiting.shift()!
    this.#size -= this.#bounds.sizeOf(value)
    const weight = this.#bounds.weightOf?.(value) ?? 0
    this.#weight -= weight
    this.#bounds.memory?.give(weight)
    if (wasBehind && !this.behind) this.onDrain()
    return { done: false, value }
  }
}

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
  constructor(onDrain: () => void = () => undefined, memory?: Room) {
    super({
      sizeOf: ({ raw }) => raw.length,
      weightOf: ({ raw }) => raw.length * PARSED + FRAME,
      memory,
      highWater: HIGH_WATER,
      onDrain,
    })
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
