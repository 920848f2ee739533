import { getHeapStatistics } from 'node:v8'
import { heavyWork } from '../base/event-loop.ts'
import type { CacheBudget, EvictableCache, MessageBudget, ByteBudget } from '../base/byte-budget.ts'

/** Measures that the budget takes when memory is short. */
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
/** Bytes in the socket buffers of an exchange or connection whose receiver does not read. */
export const STALLED = 128 * 1024
/** The longest wait of a request for room, and of a client that does not read, in milliseconds. */
const TIMEOUT = 1_000

const HEAP_SHARE = 0.4
const CONTAINER_SHARE = 0.2
const LEAST = 4 * 1024 * 1024

/** An exchange or connection whose bytes wait for a receiver. */
export interface Stalled {
  readonly stalledAt: number
  /** Ends the client's connection. */
  disconnect(): void
}

interface Waiting {
  readonly bytes: number
  readonly done: (isGranted: boolean) => void
  readonly timer: NodeJS.Timeout
}

/** Limits the memory of all in-flight messages. */
export class MemoryBudget implements ByteBudget {
  readonly limit: number
  /** The memory that faults keep for later calls, as long as nothing else needs it. */
  readonly cacheBudget = new CacheMemory(this)
  readonly stalled = new StalledReceivers(this)
  readonly pressure: Record<Pressure, number> = {
    request_waited: 0,
    request_unread: 0,
    response_unread: 0,
    fault_released: 0,
    client_cut: 0,
    kept_dropped: 0,
  }
  #held = 0
  readonly #waiting: Waiting[] = []

  constructor(limit: number) {
    this.limit = limit
  }

  get held(): number {
    return this.#held
  }

  /** True while more than the limit is held. */
  get exceeded(): boolean {
    return this.#held > this.limit
  }

  /**
   * Returns true when a response with these unread bytes should wait until others are read. Half of
   * the budget is left for what cannot wait.
   */
  isBehind(unread: number): boolean {
    return unread > SMALL && (heavyWork.full || this.#held > this.limit / 2)
  }

  take(bytes: number): boolean {
    const limit = bytes <= SMALL ? this.limit * (1 + RESERVE) : this.limit
    if (this.#held + this.cacheBudget.bytes + bytes > limit) this.cacheBudget.drop()
    if (this.#held + bytes > limit) return false
    this.#held += bytes
    return true
  }

  /** Counts bytes that are held already; returns false when the limit is exceeded. */
  add(bytes: number): boolean {
    this.#held += bytes
    if (this.#held + this.cacheBudget.bytes > this.limit) this.cacheBudget.drop()
    return this.#held <= this.limit
  }

  give(bytes: number): void {
    this.#held -= bytes
    if (this.#waiting.length > 0) this.#serve()
  }

  /** Takes bytes as soon as there is room; calls `done(false)` after a timeout. */
  wait(bytes: number, done: (isGranted: boolean) => void): void {
    // A request above the limit never fits.
    if (bytes > this.limit) {
      done(false)
      return
    }
    this.pressure.request_waited++
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      done(false)
    }, TIMEOUT)
    const waiting: Waiting = { bytes, done, timer }
    this.#waiting.push(waiting)
  }

  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (!this.take(first.bytes)) return
      this.#waiting.shift()
      clearTimeout(first.timer)
      // Called later, so that the caller of `give` is not re-entered.
      setImmediate(first.done, true)
    }
  }
}

/** Counts the memory of caches, which are dropped first. */
class CacheMemory implements CacheBudget {
  bytes = 0
  readonly #budget: MemoryBudget
  readonly #kept = new Map<EvictableCache, number>()

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  keep(kept: EvictableCache, bytes: number): boolean {
    if (this.#budget.held + this.bytes + bytes > this.#budget.limit) return false
    this.#kept.set(kept, (this.#kept.get(kept) ?? 0) + bytes)
    this.bytes += bytes
    return true
  }

  release(kept: EvictableCache, bytes: number): void {
    const left = (this.#kept.get(kept) ?? 0) - bytes
    if (left > 0) this.#kept.set(kept, left)
    else this.#kept.delete(kept)
    this.bytes -= bytes
  }

  drop(): void {
    if (this.bytes === 0) return
    this.#budget.pressure.kept_dropped++
    for (const kept of this.#kept.keys()) kept.evict()
    this.#kept.clear()
    this.bytes = 0
  }
}

/** Counts the buffered bytes of receivers that do not read, and ends them when memory is short. */
class StalledReceivers {
  readonly #budget: MemoryBudget
  /** Longest waiting first. */
  readonly #receivers = new Set<Stalled>()

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  add(receiver: Stalled, bytes = STALLED): void {
    this.#receivers.add(receiver)
    this.#budget.add(bytes)
  }

  /** Forgets a receiver that reads again or has left. */
  remove(receiver: Stalled, bytes = STALLED): void {
    if (this.#receivers.delete(receiver)) this.#budget.give(bytes)
  }

  /** Ends the longest stalled receivers while the limit is exceeded. Called once a second. */
  relieve(now: number): void {
    for (const receiver of this.#receivers) {
      if (!this.#budget.exceeded || now - receiver.stalledAt < TIMEOUT) return
      this.#budget.pressure.client_cut++
      receiver.disconnect()
    }
  }
}

/** The memory that one exchange holds until its end. */
export class HeldMemory {
  protected readonly budget: MemoryBudget
  protected bytes: number
  /** True when nothing more is held. */
  hasEnded = false

  /** Takes over bytes that the budget has counted. */
  constructor(budget: MemoryBudget, bytes = 0) {
    this.budget = budget
    this.bytes = bytes
  }

  /** Counts bytes that are kept until the end; returns false when there is no room. */
  hold(bytes: number): boolean {
    if (this.hasEnded || !this.budget.take(bytes)) return false
    this.bytes += bytes
    return true
  }

  /** Holds bytes like `hold`, but waits for room. Does not call `done` after the end. */
  holdSoon(bytes: number, done: (isHeld: boolean) => void): void {
    if (this.hold(bytes)) {
      done(true)
      return
    }
    this.budget.wait(bytes, (isGranted) => {
      if (this.hasEnded) {
        if (isGranted) this.budget.give(bytes)
        return
      }
      if (isGranted) this.bytes += bytes
      done(isGranted)
    })
  }

  /** Releases all. Idempotent. */
  end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.budget.give(this.bytes)
  }
}

/** Counts the memory of one exchange's faults: its parsed calls, and the frames in transit. */
export class ExchangeMemory extends HeldMemory implements MessageBudget {
  readonly #onFull: () => void
  #isFull = false

  /** Calls `onFull` once, when the budget is exceeded. */
  constructor(budget: MemoryBudget, bytes: number, onFull: () => void) {
    super(budget, bytes)
    this.#onFull = onFull
  }

  /** Counts held bytes; returns false when the budget is exceeded. */
  take(bytes: number): boolean {
    if (this.hasEnded) return true
    this.bytes += bytes
    if (this.budget.add(bytes)) return true
    if (!this.#isFull) {
      this.#isFull = true
      this.budget.pressure.fault_released++
      this.#onFull()
    }
    return false
  }

  reserve(bytes: number): boolean {
    return this.hasEnded || this.hold(bytes)
  }

  give(bytes: number): void {
    if (this.hasEnded) return
    this.bytes -= bytes
    this.budget.give(bytes)
  }
}

/**
 * Returns the default limit for in-flight messages: a share of the heap and of the container's
 * memory.
 */
export function defaultMemoryBudget(): number {
  // Without a limit the value is 0, or above the physical memory.
  const container = process.constrainedMemory()
  const byHeap = getHeapStatistics().heap_size_limit * HEAP_SHARE
  const byContainer = container > 0 ? container * CONTAINER_SHARE : Infinity
  return Math.max(LEAST, Math.floor(Math.min(byHeap, byContainer)))
}
