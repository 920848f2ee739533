/** One fault that took effect, as logs and the admin port show it: no secret and nothing long in it. */
export interface InjectedFaultEntry {
  readonly rule: string
  readonly fault: string
  /** For calls of a tool. */
  readonly tool: string | undefined
  /** For calls of another method. */
  readonly method: string | undefined
  /** The call's JSON-RPC id. */
  readonly id: string | number | undefined
  /** The start of a hash: tells sessions apart and gives none away. */
  readonly session: string | undefined
  readonly effect: string | undefined
  readonly delayMs: number | undefined
}

/** An entry with its time, in milliseconds since the epoch. */
export interface RecentFault {
  readonly at: number
  readonly entry: InjectedFaultEntry
}

const CAPACITY = 200

/** Keeps the faults that took effect last. */
export class RecentFaults {
  readonly #ring: RecentFault[] = []
  readonly #capacity: number
  #next = 0
  #total = 0

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  /** How many there were, also those that were dropped again. */
  get total(): number {
    return this.#total
  }

  add(fault: RecentFault): void {
    this.#ring[this.#next] = fault
    this.#next = (this.#next + 1) % this.#capacity
    this.#total++
  }

  /** Newest first. */
  list(): readonly RecentFault[] {
    return [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)].toReversed()
  }
}
