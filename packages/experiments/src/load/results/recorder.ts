import { type GrowingCounts, noCounts } from '../../indicators/indicators.ts'
import { type CallOutcome, ToolRecorder } from './tool-recorder.ts'
import { ErrorCounts } from './error-counts.ts'
import { FaultRecorder } from './fault-recorder.ts'
import { Histogram } from './histogram.ts'
import type { CallResponse } from '../clients/load-client.ts'
import { type Arrivals, CHECKS, noErrors } from './result.ts'
import { TimelineRecorder } from './timeline-recorder.ts'

/** The delay from which a call counts as late. */
const LATE_MS = 50
/** The time within which a failure shows that the server responds. */
const PROMPT_MS = 1000

/** A call of a task; without an outcome when the call was not sent. */
interface TaskCall {
  readonly critical: boolean
  readonly outcome: CallOutcome | undefined
}

/** The requests of a task. */
export interface RequestCounts {
  calls: number
  retries: number
}

/** Returns true for a wrong result without an error, which a client would use unchecked. */
function isWrong({ outcome }: TaskCall): boolean {
  return outcome?.responded === true && !outcome.correct
}

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
  /** The requests that were sent, also those of tasks that were cut. */
  readonly sent = { tasks: 0, calls: 0, retries: 0 }
  readonly originCounts = noErrors()
  readonly timeline = new TimelineRecorder()
  readonly tools = new Map<string, ToolRecorder>()
  /** In-flight calls by tool. */
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

  /** Records a call that was cut after this time in flight, and after waits for `Retry-After`. */
  abandoned(tool: string, ms: number, askedMs = 0): void {
    this.#leave(tool)
    this.arrivals.abandoned++
    const cut = this.#tool(tool)
    cut.abandoned++
    cut.cutMs.push(ms)
    cut.askedMs += askedMs
  }

  retried(tool: string): void {
    this.counts.retries++
    this.#slot().retries++
    this.#tool(tool).counts.retries++
  }

  attempt(tool: string, response: CallResponse, latencyMs: number, correct: boolean): void {
    const { kind } = response
    // A slow failure may be the time-out of a gateway in front of a hung server.
    const isPrompt = kind !== 'timeout' && latencyMs < PROMPT_MS
    if (isPrompt || kind === 'ok' || kind === 'tool') {
      this.timeline.responded(this.elapsedMs, this.counts.calls, latencyMs)
    }
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

  /** Records the requests of a task. */
  requests({ calls, retries }: RequestCounts): void {
    this.sent.tasks += Number(calls > 0)
    this.sent.calls += calls
    this.sent.retries += retries
  }

  task(calls: readonly TaskCall[]): void {
    const { counts } = this
    const any = (test: (call: TaskCall) => boolean): boolean => calls.some(test)
    const reported = any(({ critical, outcome }) => critical && outcome?.responded !== true)
    const late = any(({ critical, outcome }) => critical && outcome?.inTime === false)
    const failed = reported || late || any(isWrong)
    const missing = any(({ critical, outcome }) => !critical && outcome?.success !== true)
    const injected = any(({ outcome }) => outcome?.injected === true)
    const silent = !reported && any((call) => call.outcome?.injected === true && isWrong(call))
    counts.tasks++
    counts.failedTasks += Number(failed)
    counts.degradedTasks += Number(!failed && missing)
    counts.hitTasks += Number(injected)
    counts.silentFailures += Number(silent)
    counts.safeFailures += Number(injected && reported)
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
