import type { Keeping, Kept, Room } from '../base/room.ts'

/** Reasons for which the budget made something give way. */
export type Pressure =
  | 'request_waited'
  | 'request_unread'
  | 'response_unread'
  | 'fault_released'
  | 'client_cut'
  | 'kept_dropped'

/** Requests up to this size may use the reserve: ordinary calls are read while large ones wait. */
const SMALL = 16 * 1024
const RESERVE = 0.25
/** Bytes that wait for a client that does not read, in its socket and in the one to the upstream. */
const STALLED = 128 * 1024
/** How long a request waits for room, and a client may do so without reading, in milliseconds. */
const PATIENCE = 1_000

/** An exchange whose client does not read. */
export interface Stalled {
  readonly stalledAt: number
  /** Ends the client's connection. */
  giveUp(): void
}

interface Waiting {
  readonly bytes: number
  readonly done: (isGranted: boolean) => void
  readonly timer: NodeJS.Timeout
}

/** Counts what all messages in flight hold in memory, against one limit. */
export class MemoryBudget implements Room, Keeping {
  readonly limit: number
  readonly pressure: Record<Pressure, number> = {
    request_waited: 0,
    request_unread: 0,
    response_unread: 0,
    fault_released: 0,
    client_cut: 0,
    kept_dropped: 0,
  }
  #held = 0
  /** Bytes that faults keep for later calls. */
  readonly #kept = new Map<Kept, number>()
  #keptBytes = 0
  readonly #waiting: Waiting[] = []
  /** The one that has waited longest comes first. */
  readonly #stalled = new Set<Stalled>()

  constructor(limit: number) {
    this.limit = limit
  }

  get held(): number {
    return this.#held
  }

  get kept(): number {
    return this.#keptBytes
  }

  /** True while more is held than there should be. */
  get exceeded(): boolean {
    return this.#held > this.limit
  }

  take(bytes: number): boolean {
    const limit = bytes <= SMALL ? this.limit * (1 + RESERVE) : this.limit
    if (this.#held + this.#keptBytes + bytes > limit) this.#dropKept()
    if (this.#held + bytes > limit) return false
    this.#held += bytes
    return true
  }

  /** Counts what is held already; false when that is too much. */
  add(bytes: number): boolean {
    this.#held += bytes
    if (this.#held + this.#keptBytes > this.limit) this.#dropKept()
    return this.#held <= this.limit
  }

  keep(kept: Kept, bytes: number): boolean {
    if (this.#held + this.#keptBytes + bytes > this.limit) return false
    this.#kept.set(kept, (this.#kept.get(kept) ?? 0) + bytes)
    this.#keptBytes += bytes
    return true
  }

  forgo(kept: Kept, bytes: number): void {
    const left = (this.#kept.get(kept) ?? 0) - bytes
    if (left > 0) this.#kept.set(kept, left)
    else this.#kept.delete(kept)
    this.#keptBytes -= bytes
  }

  give(bytes: number): void {
    this.#held -= bytes
    if (this.#waiting.length > 0) this.#serve()
  }

  /** Counts what waits for a client that does not read, until it is told to `goOn`. */
  stall(exchange: Stalled): void {
    this.#stalled.add(exchange)
    this.#held += STALLED
  }

  /** The client reads on, or is gone. */
  goOn(exchange: Stalled): void {
    if (this.#stalled.delete(exchange)) this.give(STALLED)
  }

  /** Once a second: ends connections that have waited longest for their clients while there is too much. */
  relieve(now: number): void {
    for (const exchange of this.#stalled) {
      if (!this.exceeded || now - exchange.stalledAt < PATIENCE) return
      this.pressure.client_cut++
      exchange.giveUp()
    }
  }

  /** Takes bytes as soon as there is room for them; `done(false)` when there is none for too long. */
  wait(bytes: number, done: (isGranted: boolean) => void): void {
    // A request that never fits need not wait.
    if (bytes > this.limit) {
      done(false)
      return
    }
    this.pressure.request_waited++
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      done(false)
    }, PATIENCE)
    const waiting: Waiting = { bytes, done, timer }
    this.#waiting.push(waiting)
  }

  #dropKept(): void {
    if (this.#keptBytes === 0) return
    this.pressure.kept_dropped++
    for (const kept of this.#kept.keys()) kept.letGo()
    this.#kept.clear()
    this.#keptBytes = 0
  }

  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (!this.take(first.bytes)) return
      this.#waiting.shift()
      clearTimeout(first.timer)
      // Not within whoever has given room.
      setImmediate(first.done, true)
    }
  }
}
