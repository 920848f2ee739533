/** Counts faults in progress, up to a limit that may change at any time. */
export class ActiveLimit {
  /** More than this do not begin; those in progress go on when it is lowered. */
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

  /** One begins. Whoever calls this has asked `full` before and calls `leave` once. */
  enter(): void {
    this.#active++
  }

  leave(): void {
    this.#active--
  }
}
