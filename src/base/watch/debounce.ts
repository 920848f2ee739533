/** The number of quiet periods by which a storm of hints can delay an action. */
const MAX_PERIODS = 3

/** Runs an action once hints stop for a quiet period, or have continued for too long. */
export class Debounce {
  readonly #period: number
  readonly #act: () => void
  #quiet: NodeJS.Timeout | undefined
  #latest: NodeJS.Timeout | undefined

  constructor(period: number, act: () => void) {
    this.#period = period
    this.#act = act
  }

  /** Starts or extends the wait. */
  readonly hint = (): void => {
    const now = (): void => {
      this.cancel()
      this.#act()
    }
    if (this.#quiet === undefined) {
      this.#quiet = setTimeout(now, this.#period).unref()
      this.#latest = setTimeout(now, MAX_PERIODS * this.#period).unref()
    } else {
      this.#quiet.refresh()
    }
  }

  /** Drops the hints so far. */
  cancel(): void {
    clearTimeout(this.#quiet)
    clearTimeout(this.#latest)
    this.#quiet = undefined
    this.#latest = undefined
  }
}
