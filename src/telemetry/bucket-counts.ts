/** Counts of one histogram series: plain numbers, so that a call costs no allocation. */
export class BucketCounts {
  readonly #bounds: Float64Array
  readonly #counts: Float64Array
  sum = 0

  constructor(bounds: Float64Array) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(seconds: number): void {
    // One wrong clock reading must not turn the sum into NaN for good.
    const value = seconds > 0 && seconds < Infinity ? seconds : 0
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > bounds[i]!) i++
    this.#counts[i]!++
    this.sum += value
  }

  /** Adds the number of values in each bucket to what is there. */
  addTo(totals: Float64Array): void {
    for (let i = 0; i < this.#counts.length; i++) totals[i]! += this.#counts[i]!
  }

  /** Tells each upper bound with the number of values up to it; the last bound is infinite. */
  eachCumulative(tell: (bound: number, count: number) => void): void {
    let count = 0
    for (let i = 0; i < this.#counts.length; i++) {
      count += this.#counts[i]!
      tell(this.#bounds[i] ?? Infinity, count)
    }
  }
}
