import type { EmitFrame, SseFramer } from '../../../mcp/sse-framer.ts'
import { HoldTimer } from '../../hold-watch.ts'

/** Configures the wait for a partial event. */
export interface HalfEvent {
  /** Returns true while the upstream is paused, which is not its delay. */
  readonly isBehind: () => boolean
  /** Called before a late partial event is passed on. */
  readonly late?: () => void
}

/** Splits a stream into events, and limits the time for which a partial event is held. */
export class TimedFramer {
  readonly #framer: SseFramer
  readonly #timeout: number
  readonly #half: HalfEvent
  readonly #emit: EmitFrame
  #to: EmitFrame = () => undefined
  #timer: HoldTimer | undefined
  #hasEnded = false

  constructor(framer: SseFramer, timeout: number, half: HalfEvent) {
    this.#framer = framer
    this.#timeout = timeout
    this.#half = half
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
    if (this.#half.isBehind()) {
      this.#watch()
      return
    }
    this.#half.late?.()
    this.#framer.flush(this.#emit)
  }
}
