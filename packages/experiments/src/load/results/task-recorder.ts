import type { GrowingCounts } from '../../indicators/indicators.ts'
import type { Arrivals } from './result.ts'
import type { TimelineRecorder } from './timeline-recorder.ts'
import type { CallEnd, CallOutcome } from './tool-recorder.ts'

/** The delay from which a call counts as late. */
const LATE_MS = 50

/** The requests of a task. */
export interface RequestCounts {
  calls: number
  retries: number
}

/** Counts tasks, and the arrivals of their calls. */
export class TaskRecorder {
  readonly arrivals: { -readonly [Name in keyof Arrivals]: number } = {
    planned: 0,
    started: 0,
    dropped: 0,
    late: 0,
    abandoned: 0,
    skipped: 0,
  }
  /** The requests that were sent, also those of tasks that were cut. */
  readonly sent = { tasks: 0, calls: 0, retries: 0 }
  readonly #counts: GrowingCounts
  readonly #timeline: TimelineRecorder

  constructor(counts: GrowingCounts, timeline: TimelineRecorder) {
    this.#counts = counts
    this.#timeline = timeline
  }

  /** Records calls that are due; `lateMs` is their delay. */
  arrived(calls: number, lateMs: number): void {
    this.arrivals.planned += calls
    this.arrivals.started += calls
    if (lateMs > LATE_MS) this.arrivals.late += calls
  }

  /** Records calls that were due and could not be started. */
  dropped(calls: number): void {
    this.arrivals.planned += calls
    this.arrivals.dropped += calls
    this.#timeline.current.dropped += calls
  }

  /** Records a task, which needs all of its calls but the last `degrade`. */
  ended(ends: readonly CallEnd[], degrade: number, { calls, retries }: RequestCounts): void {
    this.sent.tasks += Number(calls > 0)
    this.sent.calls += calls
    this.sent.retries += retries
    for (const end of ends) if (typeof end === 'string') this.arrivals[end]++
    if (ends.includes('abandoned')) return
    const outcomes = ends.map((end) => (typeof end === 'string' ? undefined : end))
    const needed = outcomes.slice(0, Math.max(0, ends.length - degrade))
    const others = outcomes.slice(needed.length)
    const reported = needed.some((outcome) => outcome?.responded !== true)
    const late = needed.some((outcome) => outcome?.inTime === false)
    const failed = reported || late || outcomes.some(isWrong)
    const missing = others.some((outcome) => outcome?.success !== true)
    const injected = outcomes.filter((outcome) => outcome?.injected === true)
    const counts = this.#counts
    counts.tasks++
    counts.failedTasks += Number(failed)
    counts.degradedTasks += Number(!failed && missing)
    counts.hitTasks += Number(injected.length > 0)
    counts.silentFailures += Number(!reported && injected.some(isWrong))
    counts.safeFailures += Number(reported && injected.length > 0)
  }
}

/** Returns true for a wrong result without an error, which a client would use unchecked. */
function isWrong(outcome: CallOutcome | undefined): boolean {
  return outcome?.responded === true && !outcome.correct
}
