import type { Socket } from 'node:net'
import { Fifo } from '../../base/fifo.ts'
import { type MemoryBudget, STALLED, type Stalled } from '../memory-budget.ts'
import { type Effects, NO_EFFECTS } from '../../filters/connection.ts'

/** Bytes of one direction that wait for a fault; beyond this the sender is not read. */
const MAX_WAITING = 256 * 1024
/** The same for a blackhole: enough to notice most clients that leave. */
const MAX_HELD = 16 * 1024
const LONGEST_TIMER = 2 ** 31 - 1
/** A slow link carries its bytes in steps of this length, in milliseconds. */
const STEP = 50
/** Pieces below this size are joined in blocks. */
const SMALL = 1024
const BLOCK = 4 * 1024
/** The longest time between the first and the last piece of a block, in milliseconds. */
const TOGETHER = 10
/** The memory of a piece in addition to its bytes. */
const PIECE = 256

interface Piece {
  bytes: Buffer
  /** The bytes of the piece may be followed by others in the same block. */
  readonly block: Buffer | undefined
  /** The memory that it takes. */
  readonly weight: number
  readonly arrived: number
  /** From 0 to 1: its share of the jitter. */
  readonly luck: number
}

/** Configures one direction of a connection. */
export interface PumpParts {
  readonly from: Socket
  readonly memory: MemoryBudget
  /** Returns the faults now. */
  readonly effects: () => Effects
  /** Receives bytes before they are queued. */
  readonly onBytes?: ((bytes: Buffer) => void) | undefined
  /** Called once the number of bytes that `cut` lets pass has been sent. */
  readonly onCut?: () => void
  /** Called when memory is short, and bytes have waited for long. */
  readonly onShort: () => void
}

/** Carries the bytes of one direction of a connection, with backpressure. */
export class Pump implements Stalled {
  /** When bytes began to wait; negative when none do. */
  stalledAt = -1
  readonly #parts: PumpParts
  #to: Socket | undefined
  readonly #queue = new Fifo<Piece>()
  #waiting = 0
  /** The memory of the waiting pieces. */
  #weight = 0
  /** The bytes that the budget counts for the buffers of a receiver that does not read. */
  #buffered = 0
  #hasEnded = false
  #isFull = false
  /** When a slow link is free again. */
  #freeAt = 0
  /** The bytes that passed since `cut` began. */
  #passed = 0
  #isCut = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  /** When bytes arrived last, by `performance.now()`. */
  lastAt = 0

  constructor(parts: PumpParts) {
    this.#parts = parts
    parts.from.on('data', (bytes: Buffer) => this.#take(bytes))
    parts.from.once('end', () => {
      this.#hasEnded = true
      this.flush()
    })
  }

  /** True when the sender has ended, although bytes may wait. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** True while bytes wait, here or for a receiver that does not read. */
  get isBusy(): boolean {
    return this.#waiting > 0 || this.#isFull || (this.#to?.writableLength ?? 0) > 0
  }

  /** Sends to this socket, also what has waited for it. */
  open(to: Socket): void {
    this.#to = to
    to.on('drain', () => {
      this.#isFull = false
      this.flush()
    })
    this.flush()
  }

  disconnect(): void {
    this.#parts.onShort()
  }

  /** Sends what the faults let pass now. Call it when they have changed. */
  flush(): void {
    this.#flush()
    this.#noteWait()
  }

  #flush(): void {
    const { effects, from } = this.#parts
    const now = effects()
    if (now.cut === Infinity) this.#passed = 0
    const to = this.#to
    if (
      to === undefined ||
      to.destroyed ||
      now.blackhole ||
      this.#isFull ||
      this.#isCut ||
      this.#isClosed
    )
      return
    clearTimeout(this.#timer)
    for (let piece = this.#queue.first; piece !== undefined; piece = this.#queue.first) {
      const due = Math.max(piece.arrived + now.latency + now.jitter * piece.luck, this.#freeAt)
      const wait = due - performance.now()
      if (wait > 0 && (now.latency + now.jitter > 0 || now.bandwidth < Infinity)) {
        this.#timer = setTimeout(() => this.flush(), Math.min(wait, LONGEST_TIMER))
        return
      }
      if (!this.#send(to, piece, now)) return
    }
    if (this.#hasEnded && !to.writableEnded) to.end()
    else if (from.isPaused()) from.resume()
  }

  /** Drops what waits. */
  close(): void {
    clearTimeout(this.#timer)
    this.#parts.memory.give(this.#weight)
    this.#weight = 0
    this.#waiting = 0
    this.#queue.clear()
    this.#isClosed = true
    this.#isFull = false
    this.#noteWait()
  }

  #take(bytes: Buffer): void {
    const { effects, from, memory, onBytes } = this.#parts
    this.lastAt = performance.now()
    onBytes?.(bytes)
    if (effects() === NO_EFFECTS && this.#waiting === 0 && this.#to !== undefined) {
      if (this.#to.write(bytes)) return
      this.#isFull = true
      this.#noteWait()
      from.pause()
      return
    }
    this.#waiting += bytes.length
    const isHeld = this.#join(bytes) || memory.add(this.#queued(bytes))
    if (!isHeld || this.#waiting >= (effects().blackhole ? MAX_HELD : MAX_WAITING)) from.pause()
    this.flush()
  }

  /** Puts small pieces that arrive together in one block; returns false for another piece. */
  #join(bytes: Buffer): boolean {
    const { last } = this.#queue
    if (last?.block === undefined) return false
    const used = last.bytes.byteOffset - last.block.byteOffset + last.bytes.length
    const isLate = this.lastAt - last.arrived > TOGETHER && !this.#parts.effects().blackhole
    if (isLate || used + bytes.length > BLOCK) return false
    last.block.set(bytes, used)
    last.bytes = last.block.subarray(used - last.bytes.length, used + bytes.length)
    return true
  }

  /** Queues a piece; returns the memory that it takes. */
  #queued(bytes: Buffer): number {
    const block = bytes.length < SMALL ? Buffer.allocUnsafeSlow(BLOCK) : undefined
    block?.set(bytes)
    const weight = PIECE + (block ?? bytes).length
    const kept = block?.subarray(0, bytes.length) ?? bytes
    const luck = this.#parts.effects().luck()
    this.#queue.push({ bytes: kept, block, weight, arrived: this.lastAt, luck })
    this.#weight += weight
    return weight
  }

  /** Lets the budget end a connection whose bytes wait for long while memory is short. */
  #noteWait(): void {
    const isWaiting = this.#isFull || this.#waiting > 0
    const buffered = this.#isFull ? STALLED : 0
    if (isWaiting === this.stalledAt >= 0 && buffered === this.#buffered) return
    const { memory } = this.#parts
    if (this.stalledAt >= 0) memory.stalled.remove(this, this.#buffered)
    if (!isWaiting) this.stalledAt = -1
    else if (this.stalledAt < 0) this.stalledAt = performance.now()
    if (isWaiting) memory.stalled.add(this, buffered)
    this.#buffered = isWaiting ? buffered : 0
  }

  /** Sends a piece, or a part of it; returns false when no more can be sent now. */
  #send(to: Socket, piece: Piece, effects: Effects): boolean {
    const { onCut } = this.#parts
    const { bandwidth } = effects
    const cut = onCut === undefined ? Infinity : effects.cut
    const step = bandwidth === Infinity ? Infinity : Math.max(1, (bandwidth * STEP) / 1000)
    const most = Math.min(piece.bytes.length, Math.floor(step), cut - this.#passed)
    const bytes = piece.bytes.subarray(0, most)
    this.#waiting -= most
    if (most < piece.bytes.length) piece.bytes = piece.bytes.subarray(most)
    else {
      this.#queue.shift()
      this.#weight -= piece.weight
      this.#parts.memory.give(piece.weight)
    }
    if (cut < Infinity) this.#passed += most
    if (bandwidth < Infinity) {
      this.#freeAt = Math.max(this.#freeAt, performance.now()) + (most / bandwidth) * 1000
    }
    if (this.#passed >= cut && onCut !== undefined) {
      this.#isCut = true
      const cutNow = (): void => {
        onCut()
        // The rule has ended meanwhile.
        this.#isCut = false
        this.flush()
      }
      if (most === 0) cutNow()
      else to.write(bytes, cutNow)
      return false
    }
    this.#isFull = !to.write(bytes)
    return !this.#isFull
  }
}
