/**
 * Configures failures in runs: their share of calls in the long term, and the mean length of a run.
 */
export interface BurstConfig {
  /** From 0 to 1. */
  readonly rate: number
  /** In calls, at least 1. */
  readonly length: number
}

/** Returns the highest rate for runs of this mean length: at least one call separates two runs. */
export function highestBurstRate(length: number): number {
  return length / (length + 1)
}

/** A two-state Markov chain: in a run, or between two. */
export class BurstChain {
  readonly #rate: number
  readonly #begins: number
  readonly #goesOn: number
  #within: boolean | undefined

  constructor(config: BurstConfig) {
    const length = Math.max(1, config.length)
    this.#rate = config.rate
    this.#goesOn = config.rate >= 1 ? 1 : 1 - 1 / length
    // In the long term, equally many runs begin and end: rate / length = (1 − rate) × begins.
    this.#begins = config.rate >= 1 ? 1 : Math.min(1, config.rate / (length * (1 - config.rate)))
  }

  /** The chance that the next call is in a run. */
  get chance(): number {
    // The first call is in a run with the long-term rate.
    if (this.#within === undefined) return this.#rate
    return this.#within ? this.#goesOn : this.#begins
  }

  /**
   * Advances to the next call by a number from 0 to below 1; returns true when the call is in a
   * run.
   */
  next(random: number): boolean {
    this.#within = random < this.chance
    return this.#within
  }
}
