/** Waits for a receiver that accepts no more data for a time. */
export class Valve {
  blocked = false
  #waiting: (() => void)[] = []

  /** Resolves when the receiver accepts data or has left; undefined when it does. */
  ready(): Promise<void> | undefined {
    if (!this.blocked) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  open(): void {
    this.blocked = false
    if (this.#waiting.length > 0) for (const go of this.#waiting.splice(0)) go()
  }
}
