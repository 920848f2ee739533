import type { EmitFrame, SseFramer } from '../../../mcp/sse-framer.ts'
import { HoldTimer } from '../../hold-watch.ts'

/** When half an event is waited for, and when not any more. */
export interface HalfEvent {
  /** True while the upstream is asked to pause: then time is not the upstream's. */
  readonly isBehind: () => boolean
  /** Called before half an event is passed on that does not become whole in time. */
  readonly late?: () => void
}

/** Cuts a stream into events, and bounds how long half an event is held. */
export class TimedFramer {
  readonly #framer: SseFramer
  readonly #timeout: number
  readonly #half: HalfEvent
  readonly #emit: EmitFrame
  #to: EmitFrame = () => undefined
  #timer: HoldTimer | undefined
  #isOver = false

  constructor(framer: SseFramer, timeout: number, half: HalfEvent) {
    this.#framer = framer
    this.#timeout = timeout
    this.#half = half
    this.#emit = (frame) => {
      this.#unwatch()
      this.#to(frame)
    }
  }

  /** Takes the next bytes; emits every event that they complete. */
  push(bytes: Uint8Array, emit: EmitFrame): void {
    this.#to = emit
    this.#framer.push(bytes, this.#emit)
    this.#watch()
  }

  /** The stream is over: returns what is left of an event that was never completed. */
  end(): Uint8Array {
    this.stop()
    return this.#framer.end()
  }

  /** Half an event is not waited for any more. */
  stop(): void {
    this.#isOver = true
    this.#unwatch()
  }

  #watch(): void {
    if (this.#timer !== undefined || this.#framer.held === 0 || this.#isOver) return
    const late = (): void => this.#late()
    this.#timer = new HoldTimer(this.#timeout, () => this.#framer.held, late)
  }

  #unwatch(): void {
    this.#timer?.stop()
    this.#timer = undefined
  }

  #late(): void {
    this.#timer = undefined
    if (this.#half.isBehind()) {
      this.#watch()
      return
    }
    this.#half.late?.()
    this.#framer.flush(this.#emit)
  }
}
