import { type GrowingCounts, noCounts } from '../../indicators/counts.ts'
import type { CallOutcome } from '../call-runner.ts'
import { CHECKS, ErrorCounts, ToolRecorder } from './tool-recorder.ts'
import { FaultRecorder } from './fault-recorder.ts'
import { Histogram } from './histogram.ts'
import type { CallResponse } from '../clients/load-client.ts'
import { type Arrivals, noErrors } from './result.ts'
import type { TaskOutcome } from '../task-outcome.ts'
import { TimelineRecorder } from './timeline-recorder.ts'

/** The delay from which a call counts as late. */
const LATE_MS = 50

/** Counts calls, tasks and arrivals of a run. */
export class Recorder {
  readonly counts: GrowingCounts = noCounts()
  readonly arrivals: { -readonly [Name in keyof Arrivals]: number } = {
    planned: 0,
    started: 0,
    dropped: 0,
    late: 0,
    abandoned: 0,
    skipped: 0,
  }
  readonly originCounts = noErrors()
  readonly timeline = new TimelineRecorder()
  readonly tools = new Map<string, ToolRecorder>()
  /** Calls in flight by tool. */
  readonly inFlightByTool = new Map<string, number>()
  readonly faults = new FaultRecorder()
  readonly errors = new ErrorCounts()
  readonly latency = new Histogram()
  readonly #startedAt: number
  readonly #now: () => number
  inFlight = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#startedAt = now()
  }

  get elapsedMs(): number {
    return this.#now() - this.#startedAt
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
    this.#slot().dropped += calls
  }

  begin(tool: string): void {
    this.inFlight++
    this.inFlightByTool.set(tool, (this.inFlightByTool.get(tool) ?? 0) + 1)
  }

  skipped(): void {
    this.arrivals.skipped++
  }

  /** Records a call that was cut before its end. */
  abandoned(tool: string): void {
    this.#leave(tool)
    this.arrivals.abandoned++
    this.#tool(tool).cut()
  }

  retried(tool: string): void {
    this.counts.retries++
    this.#slot().retries++
    this.#tool(tool).retried()
  }

  attempt(tool: string, response: CallResponse, latencyMs: number, correct: boolean): void {
    if (response.markers.length > 0) this.faults.add(tool, response, latencyMs, correct)
  }

  call(tool: string, outcome: CallOutcome): void {
    const { counts } = this
    this.#leave(tool)
    counts.calls++
    for (const check of CHECKS) counts[check] += Number(outcome[check])
    counts.success += Number(outcome.success)
    this.latency.add(outcome.latencyMs)
    this.#tool(tool).add(outcome)
    const slot = this.#slot()
    slot.calls++
    slot.ok += Number(outcome.success)
    slot.latency.add(outcome.latencyMs)
    slot.inFlight = this.inFlight
    const { response, origin } = outcome
    if (response.kind === 'ok') return
    this.errors.add(response.kind, origin, response.code)
    this.originCounts[origin]++
    slot.errors[origin]++
  }

  task({ failed, degraded, injected, silent, safe }: TaskOutcome): void {
    const { counts } = this
    counts.tasks++
    counts.failedTasks += Number(failed)
    counts.degradedTasks += Number(degraded)
    counts.hitTasks += Number(injected)
    counts.silentFailures += Number(silent)
    counts.safeFailures += Number(safe)
  }

  /** Returns the median latency of a tool's calls; undefined before the first ones. */
  medianOf(tool: string): number | undefined {
    const latency = this.tools.get(tool)?.latency
    return latency === undefined || latency.count < 10 ? undefined : latency.quantile(0.5)!
  }

  #slot(): ReturnType<TimelineRecorder['at']> {
    return this.timeline.at(this.elapsedMs)
  }

  #leave(tool: string): void {
    this.inFlight--
    this.inFlightByTool.set(tool, this.inFlightByTool.get(tool)! - 1)
  }

  #tool(name: string): ToolRecorder {
    const known = this.tools.get(name)
    if (known !== undefined) return known
    const made = new ToolRecorder(name)
    this.tools.set(name, made)
    return made
  }
}
