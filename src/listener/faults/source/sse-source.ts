import type { Transform } from 'node:stream'
import { HEAVY, OrderedWork, nextLoop, spendShare } from '../../../base/event-loop.ts'
import { Fifo } from '../../../base/fifo.ts'
import type { ByteBudget } from '../../../base/byte-budget.ts'
import { decoderFor, type Coding } from '../../../http/content-coding.ts'
import { MarkerRenamer } from '../../../http/renamed-markers.ts'
import type { EmitFrame, SseFrame, SseFramer } from '../../../mcp/sse-framer.ts'
import { endOfSlice } from '../../../mcp/sse-slice.ts'
import { HoldTimer } from '../../hold-watch.ts'

/** Takes the events of a source. */
export interface EventReader {
  readonly memory: ByteBudget
  /** Sends what is read of the same bytes together. */
  readonly out: { joined(work: () => void): void }
  readonly read: (frame: SseFrame) => void
  readonly failed: (error: unknown) => void
  /** Called before a late partial event is passed on. */
  readonly late: () => void
  /** Returns true while no more events are wanted. */
  readonly isBehind: () => boolean
  /** Called when the upstream may continue. */
  readonly onDrain: () => void
}

/**
 * Splits a stream into events in slices: as few events as are wanted, and as many as one iteration
 * of the event loop allows.
 */
export class SseSource {
  readonly #reader: EventReader
  readonly #framer: TimedFramer
  readonly #decoder: Transform | undefined
  readonly #waiting = new Fifo<Uint8Array>()
  readonly #reading = new OrderedWork(() => this.continued())
  /** The bytes of the first waiting chunk that were taken. */
  #taken = 0
  /** True while other calls are served. */
  #isResting = false
  #isBusy = false
  #isPaused = false
  #isDropped = false
  #drained: (() => void) | undefined

  /** Holds a partial event for at most `timeout` milliseconds. */
  constructor(reader: EventReader, framer: SseFramer, timeout: number, coding: Coding) {
    this.#reader = reader
    const emit = (frame: SseFrame): void => this.#event(frame)
    this.#framer = new TimedFramer(framer, timeout, emit, () => this.behind, reader.late)
    const decoder = (this.#decoder = decoderFor(coding))
    const comments = new MarkerRenamer()
    decoder?.on('data', (chunk: Uint8Array) => {
      comments.clean(chunk)
      this.#feed(chunk)
      if (this.behind) decoder.pause()
    })
    decoder?.on('drain', () => this.continued())
    decoder?.on('error', reader.failed)
  }

  /** True while bytes or events wait, or no more events are wanted. */
  get behind(): boolean {
    return !this.#isEmpty || this.#isResting || this.#reader.isBehind()
  }

  /** Takes a part of the stream; false asks for a pause until `onDrain`. */
  push(chunk: Uint8Array): boolean {
    if (this.#decoder === undefined) this.#feed(chunk)
    else this.#decoder.write(chunk)
    this.#isPaused = this.#isFull
    return !this.#isPaused
  }

  /** Continues as far as events are wanted. */
  continued(): void {
    this.#feedOn()
    if (this.behind) return
    this.#decoder?.resume()
    if (!this.#isPaused || this.#isFull) return
    this.#isPaused = false
    this.#reader.onDrain()
  }

  /** Ends the stream; resolves to the bytes of an incomplete event when all others are read. */
  async end(): Promise<Uint8Array> {
    const decoder = this.#decoder
    if (decoder !== undefined && !decoder.destroyed) {
      const closed = new Promise((resolve) => decoder.once('close', resolve))
      decoder.end()
      decoder.resume()
      await closed
    }
    if (!this.#isEmpty) await new Promise<void>((resolve) => (this.#drained = resolve))
    return this.#framer.end()
  }

  /** Drops what waits. */
  drop(): void {
    for (const { length } of this.#waiting.takeAll()) this.#reader.memory.give(length)
    this.#taken = 0
    this.#isDropped = true
    this.#drained?.()
    this.#framer.stop()
    this.#decoder?.destroy()
  }

  get #isFull(): boolean {
    return this.behind || this.#decoder?.writableNeedDrain === true
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && !this.#reading.busy
  }

  #feed(bytes: Uint8Array): void {
    this.#waiting.push(bytes)
    this.#reader.memory.take(bytes.length)
    this.#feedOn()
  }

  #feedOn(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      while (this.#waiting.length > 0 && this.#mayRead) this.#slice()
    } finally {
      this.#isBusy = false
    }
    if (this.#isEmpty) this.#drained?.()
  }

  get #mayRead(): boolean {
    return !this.#isResting && !this.#reading.busy && !this.#reader.isBehind()
  }

  /** Reads an event; a large one later, and no more bytes are taken before. */
  #event(frame: SseFrame): void {
    const { read, failed, memory } = this.#reader
    const { length } = frame.raw
    if (length < HEAVY && !this.#reading.busy) {
      read(frame)
      return
    }
    memory.take(length)
    this.#reading.run(length, () => {
      memory.give(length)
      if (this.#isDropped) return
      try {
        read(frame)
      } catch (error) {
        failed(error)
      }
    })
  }

  #slice(): void {
    const { memory, out } = this.#reader
    const bytes = this.#waiting.first!
    const end = endOfSlice(bytes, this.#taken)
    const slice = bytes.subarray(this.#taken, end)
    this.#taken = end
    if (end === bytes.length) {
      this.#taken = 0
      this.#waiting.shift()
      memory.give(end)
    }
    const begun = performance.now()
    out.joined(() => this.#framer.push(slice))
    if (!spendShare(performance.now() - begun)) return
    this.#isResting = true
    void nextLoop().then(() => this.#rested())
  }

  #rested(): void {
    this.#isResting = false
    this.continued()
  }
}

/** Splits a stream into events, and limits the time for which a partial event is held. */
export class TimedFramer {
  readonly #framer: SseFramer
  readonly #timeout: number
  readonly #isBehind: () => boolean
  readonly #onLate: (() => void) | undefined
  readonly #emit: EmitFrame
  #timer: HoldTimer | undefined
  #hasEnded = false

  /**
   * Emits every completed event. While `isBehind` returns true, the upstream is paused, which is not
   * its delay. Calls `onLate` before a late partial event is passed on.
   */
  constructor(
    framer: SseFramer,
    timeout: number,
    emit: EmitFrame,
    isBehind: () => boolean,
    onLate?: () => void,
  ) {
    this.#framer = framer
    this.#timeout = timeout
    this.#isBehind = isBehind
    this.#onLate = onLate
    this.#emit = (frame) => {
      this.#unwatch()
      emit(frame)
    }
  }

  push(bytes: Uint8Array): void {
    this.#framer.push(bytes, this.#emit)
    this.#watch()
  }

  /** Ends the stream; returns the bytes of an incomplete event. */
  end(): Uint8Array {
    this.stop()
    return this.#framer.end()
  }

  /** Stops the time limit. */
  stop(): void {
    this.#hasEnded = true
    this.#unwatch()
  }

  #watch(): void {
    if (this.#timer !== undefined || this.#framer.held === 0 || this.#hasEnded) return
    const late = (): void => this.#late()
    this.#timer = new HoldTimer(this.#timeout, () => this.#framer.held, late)
  }

  #unwatch(): void {
    this.#timer?.stop()
    this.#timer = undefined
  }

  #late(): void {
    this.#timer = undefined
    if (this.#isBehind()) {
      this.#watch()
      return
    }
    this.#onLate?.()
    this.#framer.flush(this.#emit)
  }
}
