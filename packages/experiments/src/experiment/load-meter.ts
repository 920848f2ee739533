import { Histogram } from '../load/results/histogram.ts'
import type { Recorder } from '../load/results/recorder.ts'
import type { Measured } from './gate.ts'

/** The minimum length of the window. */
const WINDOW_MS = 5000
/** The maximum length of the window, until there are enough calls. */
const MAX_WINDOW_MS = 60_000
/** The minimum number of calls for a measurement. */
const MIN_CALLS = 10
/** After this time without a finished call, the wait itself counts as latency. */
const STALL_MS = 1000

/** Measures the recent calls of a load. */
export class LoadMeter {
  readonly #recorder: Recorder
  #calls = 0
  /** The time since which calls are in flight and none has ended. */
  #stalledSince: number | undefined

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  measured(): Measured {
    const { elapsedMs } = this.#recorder.timeline
    const window = this.#window(elapsedMs)
    const stalledMs = this.#stalledMs(elapsedMs)
    const enough = window.calls >= MIN_CALLS
    const quantile = (share: number): number | null => {
      const value = enough ? window.latency.quantile(share) : null
      if (stalledMs < STALL_MS) return value
      return Math.max(value ?? 0, stalledMs)
    }
    return {
      errors: enough ? window.failed / window.calls : null,
      success: enough ? window.ok / window.calls : null,
      p50: quantile(0.5),
      p95: quantile(0.95),
      p99: quantile(0.99),
    }
  }

  #window(elapsedMs: number) {
    const latency = new Histogram()
    const seen = new Set<object>()
    let calls = 0
    let ok = 0
    let failed = 0
    for (let back = 0; back < MAX_WINDOW_MS && back <= elapsedMs; back += 1000) {
      if (back >= WINDOW_MS && calls >= MIN_CALLS) break
      const slot = this.#recorder.timeline.at(elapsedMs - back)
      if (seen.has(slot)) continue
      seen.add(slot)
      calls += slot.calls
      ok += slot.ok
      for (const count of Object.values(slot.errors)) failed += count
      latency.addAll(slot.latency.data())
    }
    return { calls, ok, failed, latency }
  }

  #stalledMs(elapsedMs: number): number {
    const { counts, inFlight } = this.#recorder
    const moves = counts.calls !== this.#calls || inFlight.total === 0
    this.#calls = counts.calls
    if (moves) this.#stalledSince = undefined
    else this.#stalledSince ??= elapsedMs
    return this.#stalledSince === undefined ? 0 : elapsedMs - this.#stalledSince
  }
}
