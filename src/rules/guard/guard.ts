import { isInjected, type Origin, type Outcome } from '../../mcp/call.ts'
import type { Arming } from './arming.ts'
import { WindowCounts } from './window-counts.ts'

/** When real errors are too many. */
export interface GuardConfig {
  /** More than this share of the calls is too many, 0 to 100. */
  readonly errorPercent: number
  /** The length of the window in milliseconds. */
  readonly window: number
  /** Fewer calls within the window say nothing. */
  readonly minCalls: number
}

const BUCKETS = 30

/**
 * Returns true for a call that shows how the upstream fares: its outcome is neither injected nor
 * cancelled.
 */
export function isJudged(outcome: Outcome, origin: Origin): boolean {
  return !isInjected(origin) && outcome !== 'cancelled'
}

/**
 * Disarms all rules when too many calls fail for real. A call whose outcome a fault made counts
 * neither as an error nor as a call, and neither does one that its client cancelled on purpose:
 * both say nothing of how the upstream fares. Squall's response in place of a missing one is an
 * error like the upstream's own.
 *
 * Once it has tripped it looks away until somebody lifts the `guard` reason, by new rules or by
 * hand, and begins with an empty window then. While something else keeps rules from acting it
 * watches and does not trip, so that it judges by fresh figures when they may act again.
 */
export class Guard {
  readonly #config: GuardConfig
  readonly #arming: Arming
  readonly #onTrip: (reason: string) => void
  readonly #counts: WindowCounts
  #tripped = false

  constructor(config: GuardConfig, arming: Arming, onTrip: (reason: string) => void = () => {}) {
    this.#config = config
    this.#arming = arming
    this.#onTrip = onTrip
    this.#counts = new WindowCounts(config.window, BUCKETS)
  }

  /** A call is over. `now` is in milliseconds since any time that stays the same. */
  record(outcome: Outcome, origin: Origin, now: number): void {
    if (!isJudged(outcome, origin)) return
    if (this.#tripped) {
      if (this.#arming.has('guard')) return
      this.reset()
    }
    this.#counts.add(outcome !== 'ok', now)
    const { errorPercent, minCalls } = this.#config
    const { calls, counted } = this.#counts
    if (calls < minCalls) return
    if (counted * 100 > errorPercent * calls && this.#arming.armed) this.#trip()
  }

  figures(now: number) {
    this.#counts.advance(now)
    return { calls: this.#counts.calls, errors: this.#counts.counted }
  }

  /** Forgets what it has seen. */
  reset(): void {
    this.#tripped = false
    this.#counts.clear()
  }

  #trip(): void {
    this.#tripped = true
    const { errorPercent, window } = this.#config
    const { calls, counted } = this.#counts
    const percent = Number(((100 * counted) / calls).toFixed(1))
    const reason = `${counted} of ${calls} calls had real errors within ${window / 1000}s: ${percent}% is more than ${errorPercent}%`
    this.#arming.disarm('guard', reason)
    this.#onTrip(reason)
  }
}
