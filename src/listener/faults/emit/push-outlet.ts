import { Fifo } from '../../../base/fifo.ts'
import type { ResponseSink } from '../../../http/transfer.ts'
import type { SseFramer } from '../../../mcp/sse-framer.ts'
import { JoinedWrites } from './joined-writes.ts'

/** Tracks the client's position in a stream. */
export interface PushPosition {
  /** True between two events. */
  readonly between: boolean
  /**
   * Returns a framer that continues at this position; the rest of an incomplete event is emitted in
   * pieces.
   */
  fork(): SseFramer
}

/** The bound on Squall's bytes that wait for the client, or for the end of an event. */
const MOST_WAITING = 64 * 1024

interface Waiting {
  readonly act: () => void
  readonly acted: () => void
}

/** Sends a stream: the app's bytes unchanged, and Squall's events between two of the app's. */
export class PushOutlet {
  readonly #position: PushPosition
  readonly #writes: JoinedWrites
  #blocked = false
  #offered = 0
  readonly #waiting = new Fifo<Waiting>()
  #unblocked: (() => void)[] = []

  constructor(sink: ResponseSink, position: PushPosition) {
    this.#position = position
    this.#writes = new JoinedWrites((bytes) => {
      if (!sink.data(bytes)) this.#blocked = true
    })
  }

  /** True while the client accepts no more data. */
  get blocked(): boolean {
    return this.#blocked
  }

  /** True while events of Squall wait for the end of an event of the app. */
  get waits(): boolean {
    return this.#waiting.length > 0
  }

  write(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#writes.write(bytes)
  }

  /** Joins the writes of `work`. */
  joined(work: () => void): void {
    this.#writes.during(work)
  }

  /** Sends whole events that are not from the stream; returns false when there is no room. */
  offer(bytes: Uint8Array): boolean {
    this.#writes.flush()
    const waits = this.#blocked || this.waits || !this.#position.between
    if (waits && this.#offered + bytes.length > MOST_WAITING) return false
    if (waits) this.#offered += bytes.length
    void this.between(() => this.write(bytes))
    return true
  }

  /** Runs `act` between two events, now or later. The promise resolves when more may follow. */
  between(act: () => void): Promise<void> | undefined {
    // The position depends on the written bytes.
    this.#writes.flush()
    if (!this.waits && this.#position.between) {
      act()
      return this.ready()
    }
    return new Promise((resolve) => {
      this.#waiting.push({ act, acted: () => resolve(this.ready()) })
    })
  }

  /** Runs the waiting actions as far as possible. */
  flush(): void {
    if (this.waits) this.#writes.flush()
    while (this.waits && this.#position.between) this.#next()
    this.#forgive()
  }

  /**
   * Runs all waiting actions after the end of the app's stream, even inside an incomplete event.
   */
  flushAll(): void {
    this.#writes.flush()
    while (this.waits) this.#next()
  }

  resume(): void {
    this.#blocked = false
    this.#forgive()
    for (const go of this.#unblocked.splice(0)) go()
  }

  /** Drops the waiting actions after the client has left. */
  drop(): void {
    this.#blocked = false
    for (const { acted } of this.#waiting.takeAll()) acted()
    for (const go of this.#unblocked.splice(0)) go()
  }

  /** Resolves when the client accepts data or has left. */
  ready(): Promise<void> | undefined {
    if (!this.#blocked) return undefined
    return new Promise((resolve) => this.#unblocked.push(resolve))
  }

  #next(): void {
    const { act, acted } = this.#waiting.shift()!
    act()
    acted()
  }

  #forgive(): void {
    if (!this.#blocked && !this.waits) this.#offered = 0
  }
}
