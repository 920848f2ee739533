import { Histogram } from './histogram.ts'
import { ORIGINS, type Timeline, type TimePoint, noErrors } from './result.ts'

/**
 * Limits the points: beyond this, pairs are combined, so that the result of a long run stays small.
 */
const MAX_POINTS = 3600

type Slot = ReturnType<typeof emptySlot>

/** Counts per second; after an hour per two seconds, and so on. */
export class TimelineRecorder {
  /** The last response: its time, the calls that had ended, and the longest wait for one. */
  lastResponse = { atMs: 0, calls: 0, slowestMs: 0 }
  #intervalMs = 1000
  #slots: Slot[] = []
  readonly #now: () => number
  readonly #startedAt: number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#startedAt = now()
  }

  get elapsedMs(): number {
    return this.#now() - this.#startedAt
  }

  get current(): Slot {
    return this.at(this.elapsedMs)
  }

  /** Records a response; `calls` had ended by then. */
  responded(calls: number, latencyMs: number): void {
    const slowestMs = Math.max(this.lastResponse.slowestMs, latencyMs)
    this.lastResponse = { atMs: this.elapsedMs, calls, slowestMs }
  }

  at(elapsedMs: number): Slot {
    let index = this.#indexOf(elapsedMs)
    while (index >= MAX_POINTS) {
      this.#halve()
      index = this.#indexOf(elapsedMs)
    }
    while (this.#slots.length <= index) this.#slots.push(emptySlot(this.#slots.at(-1)?.inFlight))
    return this.#slots[index]!
  }

  timeline(): Timeline {
    const intervalMs = this.#intervalMs
    return { intervalMs, points: this.#slots.map((slot, i) => toPoint(slot, i * intervalMs)) }
  }

  #indexOf(elapsedMs: number): number {
    return Math.floor(Math.max(0, elapsedMs) / this.#intervalMs)
  }

  #halve(): void {
    const slots: Slot[] = []
    for (let i = 0; i < this.#slots.length; i += 2) {
      const slot = this.#slots[i]!
      const next = this.#slots[i + 1]
      if (next !== undefined) {
        addPoint(slot, toPoint(next, 0))
        slot.inFlight = next.inFlight
      }
      slots.push(slot)
    }
    this.#slots = slots
    this.#intervalMs *= 2
  }
}

/** Merges the timelines of several runs; `offsets` are their delays after the first run. */
export function mergeTimelines(
  timelines: readonly Timeline[],
  offsets: readonly number[],
): Timeline {
  let intervalMs = Math.max(1000, ...timelines.map((each) => each.intervalMs))
  const lasts = timelines.map(({ points }, i) => (points.at(-1)?.at ?? 0) + offsets[i]!)
  while (Math.max(...lasts) / intervalMs >= MAX_POINTS) intervalMs *= 2
  const slots: Slot[] = []
  // In-flight calls are a gauge: only the last interval of each part counts.
  timelines.forEach(({ points }, run) => {
    const levels = new Map<number, number>()
    for (const point of points) {
      const index = Math.floor((point.at + offsets[run]!) / intervalMs)
      while (slots.length <= index) slots.push(emptySlot())
      addPoint(slots[index]!, point)
      levels.set(index, point.inFlight)
    }
    for (const [index, level] of levels) slots[index]!.inFlight += level
  })
  return { intervalMs, points: slots.map((slot, i) => toPoint(slot, i * intervalMs)) }
}

function addPoint(slot: Slot, point: TimePoint): void {
  slot.calls += point.calls
  slot.ok += point.ok
  slot.retries += point.retries
  slot.dropped += point.dropped
  for (const origin of ORIGINS) slot.errors[origin] += point.errors[origin]
  slot.latency.addAll(point.histogram)
}

function toPoint(slot: Slot, at: number): TimePoint {
  const { calls, ok, retries, dropped, inFlight, latency } = slot
  const { p50, p99 } = latency.summary()
  const errors = { ...slot.errors }
  const histogram = latency.data()
  return { at, calls, ok, retries, errors, dropped, inFlight, p50, p99, histogram }
}

function emptySlot(inFlight = 0) {
  const errors = noErrors()
  return { calls: 0, ok: 0, retries: 0, dropped: 0, inFlight, errors, latency: new Histogram() }
}
