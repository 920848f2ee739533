/**
 * Counts calls, and some of them, within a sliding window of fixed memory. Times are in
 * milliseconds since any moment that stays the same. The window is exact to the width of a bucket.
 */
export class WindowCounts {
  readonly #width: number
  readonly #calls: Uint32Array
  readonly #counted: Uint32Array
  #allCalls = 0
  #allCounted = 0
  /** Which stretch of time the newest bucket stands for. */
  #newest = 0

  constructor(window: number, buckets: number) {
    this.#width = Math.max(1, Math.ceil(window / buckets))
    this.#calls = new Uint32Array(buckets)
    this.#counted = new Uint32Array(buckets)
  }

  /** The calls within the window, as of the last `add` or `advance`. */
  get calls(): number {
    return this.#allCalls
  }

  /** The calls among them that were added as counted. */
  get counted(): number {
    return this.#allCounted
  }

  /** Adds a call. */
  add(isCounted: boolean, now: number): void {
    this.advance(now)
    const at = this.#newest % this.#calls.length
    this.#calls[at]!++
    this.#allCalls++
    if (!isCounted) return
    this.#counted[at]!++
    this.#allCounted++
  }

  /** Drops all calls. */
  clear(): void {
    this.#calls.fill(0)
    this.#counted.fill(0)
    this.#allCalls = 0
    this.#allCounted = 0
  }

  /** Drops the calls that are older than the window. */
  advance(now: number): void {
    const stretch = Math.floor(now / this.#width)
    const ahead = stretch - this.#newest
    if (ahead === 0) return
    if (Math.abs(ahead) >= this.#calls.length) {
      // Also when the clock was put back: what it said before is worth nothing then.
      this.clear()
      this.#newest = stretch
      return
    }
    for (let i = 0; i < ahead; i++) {
      this.#newest++
      const at = this.#newest % this.#calls.length
      this.#allCalls -= this.#calls[at]!
      this.#allCounted -= this.#counted[at]!
      this.#calls[at] = 0
      this.#counted[at] = 0
    }
  }
}
