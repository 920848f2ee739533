/** An injected fault as in the log and on the admin port, without secrets and long texts. */
export interface InjectedFaultEntry {
  readonly rule: string
  readonly fault: string
  /** The tool of a `tools/call`. */
  readonly tool: string | undefined
  /** The method of another call. */
  readonly method: string | undefined
  readonly id: string | number | undefined
  /** The start of a hash, which distinguishes sessions and reveals none. */
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

/** Keeps the last injected faults. */
export class RecentFaults {
  readonly #ring: RecentFault[] = []
  readonly #capacity: number
  #next = 0
  #total = 0

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  /** The number of injected faults, with those dropped from the list. */
  get total(): number {
    return this.#total
  }

  add(fault: RecentFault): void {
    this.#ring[this.#next] = fault
    this.#next = (this.#next + 1) % this.#capacity
    this.#total++
  }

  /** Returns the kept faults, newest first. */
  list(): readonly RecentFault[] {
    return [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)].toReversed()
  }
}
