import type { MessageRoom } from '../../base/room.ts'
import { MemoryBudget } from '../memory-budget.ts'
import type { CallFaults } from './call-faults.ts'
import type { ExchangeFaultsOptions } from './exchange-faults-options.ts'

/** Counts the memory of one exchange's faults: its parsed calls, and the frames in transit. */
export class FaultMemory implements MessageRoom {
  readonly #budget: MemoryBudget
  readonly #all: () => readonly CallFaults[]
  #held: number
  #closed = false
  #full = false

  /** Takes over the weight of the calls, which the budget has counted. */
  constructor(
    { memory = new MemoryBudget(Infinity), weight = 0 }: ExchangeFaultsOptions,
    all: () => readonly CallFaults[],
  ) {
    this.#budget = memory
    this.#held = weight
    this.#all = all
  }

  /** Counts held bytes; returns false, and stops all faults, when the budget is exceeded. */
  take(bytes: number): boolean {
    if (this.#closed) return true
    this.#held += bytes
    if (this.#budget.add(bytes)) return true
    if (!this.#full) this.#releaseAll()
    return false
  }

  reserve(bytes: number): boolean {
    if (!this.#closed && !this.#budget.take(bytes)) return false
    if (!this.#closed) this.#held += bytes
    return true
  }

  give(bytes: number): void {
    if (this.#closed) return
    this.#held -= bytes
    this.#budget.give(bytes)
  }

  /** Releases all held memory at the end of the exchange. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#budget.give(this.#held)
  }

  #releaseAll(): void {
    this.#full = true
    this.#budget.pressure.fault_released++
    for (const faults of this.#all()) {
      faults.leaveResponse('memory')
      faults.stop.abort()
    }
  }
}
