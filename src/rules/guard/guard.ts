import type { Origin, Outcome } from '../../mcp/call.ts'
import type { Arming } from './arming.ts'

/** When real errors are too many. */
export interface GuardConfig {
  /** More than this share of the calls is too many, 0 to 100. */
  readonly errorPercent: number
  /** The length of the window in milliseconds. */
  readonly window: number
  /** Fewer calls within the window say nothing. */
  readonly minCalls: number
}

export interface GuardFigures {
  readonly calls: number
  readonly errors: number
}

const BUCKETS = 30

/**
 * Disarms all rules when too many calls fail for real. A call whose outcome a fault made counts
 * neither as an error nor as a call, and neither does one that its client cancelled on purpose: both
 * say nothing of how the upstream fares. What Squall answers because the upstream does not is an error like the upstream's own.
 *
 * Once it has tripped it looks away until somebody lifts the `guard` reason, by new rules or by
 * hand, and begins with an empty window then. While something else keeps rules from acting it
 * watches and does not trip, so that it judges by fresh figures when they may act again.
 */
export class Guard {
  readonly #config: GuardConfig
  readonly #arming: Arming
  readonly #onTrip: (reason: string) => void
  readonly #width: number
  readonly #calls = new Uint32Array(BUCKETS)
  readonly #errors = new Uint32Array(BUCKETS)
  #allCalls = 0
  #allErrors = 0
  /** Which stretch of time the newest bucket stands for. */
  #newest = 0
  #tripped = false

  constructor(config: GuardConfig, arming: Arming, onTrip: (reason: string) => void = () => {}) {
    this.#config = config
    this.#arming = arming
    this.#onTrip = onTrip
    this.#width = Math.max(1, Math.ceil(config.window / BUCKETS))
  }

  /** A call is over. `now` is in milliseconds since any time that stays the same. */
  record(outcome: Outcome, origin: Origin, now: number): void {
    if (origin === 'injected' || outcome === 'cancelled') return
    if (this.#tripped) {
      if (this.#arming.has('guard')) return
      this.reset()
    }
    this.#advance(now)
    const at = this.#newest % BUCKETS
    this.#calls[at]!++
    this.#allCalls++
    if (outcome !== 'ok') {
      this.#errors[at]!++
      this.#allErrors++
    }
    const { errorPercent, minCalls } = this.#config
    if (this.#allCalls < minCalls) return
    if (this.#allErrors * 100 > errorPercent * this.#allCalls && this.#arming.armed) this.#trip()
  }

  figures(now: number): GuardFigures {
    this.#advance(now)
    return { calls: this.#allCalls, errors: this.#allErrors }
  }

  /** Forgets what it has seen. */
  reset(): void {
    this.#tripped = false
    this.#calls.fill(0)
    this.#errors.fill(0)
    this.#allCalls = 0
    this.#allErrors = 0
  }

  #trip(): void {
    this.#tripped = true
    const { errorPercent, window } = this.#config
    const percent = Number(((100 * this.#allErrors) / this.#allCalls).toFixed(1))
    const reason =
      `${this.#allErrors} of ${this.#allCalls} calls failed for real within ` +
      `${window / 1000}s: ${percent}% is more than ${errorPercent}%`
    this.#arming.disarm('guard', reason)
    this.#onTrip(reason)
  }

  #advance(now: number): void {
    const stretch = Math.floor(now / this.#width)
    const ahead = stretch - this.#newest
    if (ahead === 0) return
    if (Math.abs(ahead) >= BUCKETS) {
      // Also when the clock was put back: what it said before is worth nothing then.
      const tripped = this.#tripped
      this.reset()
      this.#tripped = tripped
      this.#newest = stretch
      return
    }
    for (let i = 0; i < ahead; i++) {
      this.#newest++
      const at = this.#newest % BUCKETS
      this.#allCalls -= this.#calls[at]!
      this.#allErrors -= this.#errors[at]!
      this.#calls[at] = 0
      this.#errors[at] = 0
    }
  }
}
