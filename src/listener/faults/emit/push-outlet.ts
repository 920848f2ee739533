import { Fifo } from '../../../base/fifo.ts'
import type { ResponseSink } from '../../../http/transfer.ts'
import type { SseFramer } from '../../../mcp/sse-framer.ts'
import { JoinedWrites } from './joined-writes.ts'

/** Knows where in a stream the client is. */
export interface PushPosition {
  /** True where another event may go: not inside of one. */
  readonly between: boolean
  /** A framer that goes on from here; an event that is under way leaves it in pieces. */
  fork(): SseFramer
}

/** Bytes of ours that may wait for a client that does not read, or for the app to end an event. */
const MOST_WAITING = 64 * 1024

interface Waiting {
  readonly act: () => void
  readonly acted: () => void
}

/** Where a stream leaves: the app's bytes as they come, and events of ours between two of the app's. */
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

  /** True while the client takes no more. */
  get blocked(): boolean {
    return this.#blocked
  }

  /** True while something of ours waits for the app to end an event. */
  get waits(): boolean {
    return this.#waiting.length > 0
  }

  write(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#writes.write(bytes)
  }

  /** Writes in one piece what `work` writes together. */
  joined(work: () => void): void {
    this.#writes.during(work)
  }

  /** Whole events from outside of the stream; false when there is no room for them. */
  offer(bytes: Uint8Array): boolean {
    this.#writes.flush()
    const waits = this.#blocked || this.waits || !this.#position.between
    if (waits && this.#offered + bytes.length > MOST_WAITING) return false
    if (waits) this.#offered += bytes.length
    void this.between(() => this.write(bytes))
    return true
  }

  /** Acts where another event may go, which is now or soon. The promise tells when more may follow. */
  between(act: () => void): Promise<void> | undefined {
    // Where the client is depends on what was written.
    this.#writes.flush()
    if (!this.waits && this.#position.between) {
      act()
      return this.ready()
    }
    return new Promise((resolve) => {
      this.#waiting.push({ act, acted: () => resolve(this.ready()) })
    })
  }

  /** Lets what waits act, as far as it can. */
  flush(): void {
    if (this.waits) this.#writes.flush()
    while (this.waits && this.#position.between) this.#next()
    this.#forgive()
  }

  /** Lets everything act that waits: the app says no more, and what it began has no end. */
  flushAll(): void {
    this.#writes.flush()
    while (this.waits) this.#next()
  }

  /** The client takes more. */
  resume(): void {
    this.#blocked = false
    this.#forgive()
    for (const go of this.#unblocked.splice(0)) go()
  }

  /** The client is gone. */
  drop(): void {
    this.#blocked = false
    for (const { acted } of this.#waiting.takeAll()) acted()
    for (const go of this.#unblocked.splice(0)) go()
  }

  /** Resolves when the client takes more, or is gone. */
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
