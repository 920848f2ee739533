/** Something that looks once in each turn of the event loop whether it can go on. */
export interface Runner {
  /** True when it is done. */
  turn(): boolean
}

/**
 * Goes round with the event loop as long as somebody runs. What was written in one turn has been
 * read by whoever it is for in the next, since all ends of all connections are in this process: to
 * wait for turns is to wait for events, and takes no longer than these.
 */
export class Turns {
  count = 0
  readonly #runners = new Map<Runner, () => void>()
  #going = false

  /** Resolves when the runner is done. */
  run(runner: Runner): Promise<void> {
    return new Promise((resolve) => {
      this.#runners.set(runner, resolve)
      if (this.#going) return
      this.#going = true
      setImmediate(() => this.#turn())
    })
  }

  #turn(): void {
    this.count++
    for (const [runner, done] of this.#runners) {
      if (!runner.turn()) continue
      this.#runners.delete(runner)
      done()
    }
    this.#going = this.#runners.size > 0
    if (this.#going) setImmediate(() => this.#turn())
  }
}
