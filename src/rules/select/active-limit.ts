/** Counts faults in progress, up to a limit that may change at any time. */
export class ActiveLimit {
  /** The maximum; when it is lowered, faults in progress continue. */
  limit: number
  #active = 0

  constructor(limit = Infinity) {
    this.limit = limit
  }

  get active(): number {
    return this.#active
  }

  get full(): boolean {
    return this.#active >= this.limit
  }

  /** Counts a fault that begins. Callers test `full` before, and call `leave` once afterwards. */
  enter(): void {
    this.#active++
  }

  leave(): void {
    this.#active--
  }
}
