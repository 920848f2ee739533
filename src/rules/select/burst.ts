/** Failures that come in runs: the share of calls in a run in the long term, and a run's mean length. */
export interface BurstConfig {
  /** From 0 to 1. */
  readonly rate: number
  /** In calls, at least 1. */
  readonly length: number
}

/**
 * The highest rate that runs of this mean length allow: even when a new run begins right after each
 * call between two runs, there is that one call.
 */
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
    // In the long term as many runs begin as end: rate / length = (1 − rate) × begins.
    this.#begins = config.rate >= 1 ? 1 : Math.min(1, config.rate / (length * (1 - config.rate)))
  }

  /** The chance that the next call is in a run. */
  get chance(): number {
    // The first call is in a run as often as any other.
    if (this.#within === undefined) return this.#rate
    return this.#within ? this.#goesOn : this.#begins
  }

  /** Goes on to the next call by a number from 0 to below 1; true when it is in a run. */
  next(random: number): boolean {
    this.#within = random < this.chance
    return this.#within
  }
}
