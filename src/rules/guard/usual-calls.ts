/** Older windows are forgotten. */
const MOST_WINDOWS = 60
/** Fewer windows do not show what is usual. */
const LEAST_WINDOWS = 6

/** Learns how many calls there are within a window while no rule is active. */
export class UsualCalls {
  readonly #window: number
  readonly #seen: number[] = []
  #median: number | undefined
  /** The start of the window that is observed now; undefined while a rule is active. */
  #from: number | undefined

  /** The window is in milliseconds. */
  constructor(window: number) {
    this.#window = window
  }

  /** The median of the last windows; undefined for too few windows, and for a median of 0. */
  get calls(): number | undefined {
    return this.#median
  }

  /** Takes the calls within the window that ends now. */
  see(calls: number, isActive: boolean, now: number): void {
    if (isActive) this.#from = undefined
    else if (this.#from === undefined) this.#from = now
    else if (now - this.#from >= this.#window) {
      this.#from = now
      this.#seen.push(calls)
      if (this.#seen.length > MOST_WINDOWS) this.#seen.shift()
      if (this.#seen.length >= LEAST_WINDOWS) this.#median = median(this.#seen) || undefined
    }
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]!
}
