import { Fifo } from '../../../base/fifo.ts'
import type { Room } from '../../../base/room.ts'
import { endOfSlice } from '../../../mcp/sse-slice.ts'
import type { EmitFrame, SseFrame, SseFramer } from '../../../mcp/sse-framer.ts'
import { HEAVY, OrderedWork, nextLoop, spendShare } from '../../../base/event-loop.ts'
import { HoldTimer } from '../../hold-watch.ts'
import { progressTokenOf, type Message } from '../../../mcp/json-rpc.ts'
import type { CallInjection } from '../call-injection.ts'
import { hasEnded } from '../call-state.ts'

/**
 * Splits a stream into events in slices: as few events as are wanted, and as many as one iteration
 * of the event loop allows.
 */
export abstract class SseFeed {
  readonly #memory: Room
  readonly #waiting = new Fifo<Uint8Array>()
  readonly #reading = new OrderedWork(() => this.continued())
  /** The bytes of the first waiting chunk that were taken. */
  #taken = 0
  /** True while other calls are served. */
  #isResting = false
  #isBusy = false
  #isDropped = false
  readonly #emit: EmitFrame = (frame) => this.#event(frame)
  #drained: (() => void) | undefined

  constructor(memory: Room) {
    this.#memory = memory
  }

  /** Splits the next bytes into events. */
  protected abstract take(bytes: Uint8Array, emit: EmitFrame): void

  /** Reads an event. */
  protected abstract read(frame: SseFrame): void

  /** Handles an error of an event that was read later. */
  protected abstract failed(error: unknown): void

  /** True while no more events are wanted. */
  protected abstract get chainsBehind(): boolean

  /** Called when the feed can continue after other calls were served. */
  protected abstract continued(): void

  /** True while bytes or events wait. */
  protected get waits(): boolean {
    return this.#waiting.length > 0 || this.#reading.busy || this.#isResting
  }

  protected feed(bytes: Uint8Array): void {
    this.#waiting.push(bytes)
    this.#memory.take(bytes.length)
    this.feedOn()
  }

  /** Continues as far as possible. */
  protected feedOn(): void {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      while (this.#waiting.length > 0 && this.#mayResume) this.#slice()
    } finally {
      this.#isBusy = false
    }
    if (this.#isEmpty) this.#drained?.()
  }

  /** Resolves when nothing waits; returns undefined when nothing does. */
  protected fed(): Promise<void> | undefined {
    if (this.#isEmpty) return undefined
    return new Promise((resolve) => (this.#drained = resolve))
  }

  /** Drops the waiting bytes. */
  protected dropFeed(): void {
    for (const { length } of this.#waiting.takeAll()) this.#memory.give(length)
    this.#taken = 0
    this.#isDropped = true
    this.#drained?.()
  }

  get #mayResume(): boolean {
    return !this.#isResting && !this.#reading.busy && !this.chainsBehind
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && !this.#reading.busy
  }

  /** Reads an event; a large one later, and no more bytes are taken before. */
  #event(frame: SseFrame): void {
    const { length } = frame.raw
    if (length < HEAVY && !this.#reading.busy) {
      this.read(frame)
      return
    }
    this.#memory.take(length)
    this.#reading.run(length, () => {
      this.#memory.give(length)
      if (this.#isDropped) return
      try {
        this.read(frame)
      } catch (error) {
        this.failed(error)
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
    this.take(slice, this.#emit)
    if (spendShare(performance.now() - begun)) this.#rest()
  }

  #rest(): void {
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
  #to: EmitFrame = () => undefined
  #timer: HoldTimer | undefined
  #hasEnded = false

  /**
   * While `isBehind` returns true, the upstream is paused, which is not its delay. Calls `onLate`
   * before a late partial event is passed on.
   */
  constructor(framer: SseFramer, timeout: number, isBehind: () => boolean, onLate?: () => void) {
    this.#framer = framer
    this.#timeout = timeout
    this.#isBehind = isBehind
    this.#onLate = onLate
    this.#emit = (frame) => {
      this.#unwatch()
      this.#to(frame)
    }
  }

  /** Reads the next bytes and emits every completed event. */
  push(bytes: Uint8Array, emit: EmitFrame): void {
    this.#to = emit
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

/** Returns the call of the exchange to which an event belongs, if that is certain. */
export function ownerOf(
  calls: readonly CallInjection[],
  message: Message | undefined,
): CallInjection | undefined {
  if (calls.length <= 1) return calls[0]
  if (message?.kind === 'result' || message?.kind === 'error') {
    return calls.find((own) => !hasEnded(own) && own.call!.id === message.id)
  }
  const token = progressTokenOf(message)
  if (token === undefined) return undefined
  return calls.find(({ call }) => call!.progressToken === token)
}

/** Returns the call that a message ends, if any. */
export function endedBy(
  calls: readonly CallInjection[],
  message: Message | undefined,
): CallInjection | undefined {
  if (message?.kind !== 'result' && message?.kind !== 'error') return undefined
  const own = calls.find(({ call }) => call!.id === message.id)
  return own ?? (message.id === null && calls.length === 1 ? calls[0] : undefined)
}
