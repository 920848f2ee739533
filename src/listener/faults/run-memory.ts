import type { Room } from '../../base/room.ts'
import { MemoryBudget } from '../memory-budget.ts'
import type { CallRun } from './call-run.ts'
import type { FaultRunOptions } from './fault-run-options.ts'

/** Counts what the faults of one exchange hold: its parsed calls, and the frames on their way. */
export class RunMemory implements Room {
  readonly #budget: MemoryBudget
  readonly #runs: () => readonly CallRun[]
  #held: number
  #closed = false
  #full = false

  /** Takes over the weight of the calls, which the budget has counted. */
  constructor(
    { memory = new MemoryBudget(Infinity), weight = 0 }: FaultRunOptions,
    runs: () => readonly CallRun[],
  ) {
    this.#budget = memory
    this.#held = weight
    this.#runs = runs
  }

  /** Counts what is held already; false when that is too much: then all faults let go. */
  take(bytes: number): boolean {
    if (this.#closed) return true
    this.#held += bytes
    if (this.#budget.add(bytes)) return true
    if (!this.#full) this.#letGo()
    return false
  }

  give(bytes: number): void {
    if (this.#closed) return
    this.#held -= bytes
    this.#budget.give(bytes)
  }

  /** The exchange is over, and so is all that was held for it. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#budget.give(this.#held)
  }

  #letGo(): void {
    this.#full = true
    this.#budget.pressure.fault_released++
    for (const run of this.#runs()) {
      run.leaveResponse('memory')
      run.stop.abort()
    }
  }
}
