/** A number of calls per period, and a burst. */
export interface TokenRate {
  readonly calls: number
  /** In milliseconds. */
  readonly per: number
  readonly burst: number
}

/** A bucket that begins full: each call takes a token, and they come back one by one. */
export class TokenBucket {
  readonly #rate: TokenRate
  // Counted in tokens times `per`: with whole milliseconds every sum is exact.
  #credit: number
  #at: number

  constructor(rate: TokenRate, now: number) {
    this.#rate = rate
    this.#credit = rate.burst * rate.per
    this.#at = now
  }

  /** Takes a token: 0 when there was one, else the milliseconds until there is. */
  take(now: number): number {
    const { calls, per, burst } = this.#rate
    // A clock that was set back adds nothing, and time counts on from there.
    const elapsed = Math.max(0, now - this.#at)
    this.#at = now
    this.#credit = Math.min(burst * per, this.#credit + elapsed * calls)
    if (this.#credit < per) return (per - this.#credit) / calls
    this.#credit -= per
    return 0
  }
}
