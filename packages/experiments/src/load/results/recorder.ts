import { type GrowingCounts, noCounts } from '../../indicators/indicators.ts'
import { type CallOutcome, ToolRecorder } from './tool-recorder.ts'
import { ErrorCounts } from './error-counts.ts'
import { FaultRecorder } from './fault-recorder.ts'
import { Histogram } from './histogram.ts'
import type { CallResponse } from '../clients/load-client.ts'
import { CHECKS } from './result.ts'
import { TaskRecorder } from './task-recorder.ts'
import { TimelineRecorder } from './timeline-recorder.ts'

/** The time within which a failure shows that the server responds. */
const PROMPT_MS = 1000

/** Counts the tasks and calls of a run. */
export class Recorder {
  readonly counts: GrowingCounts = noCounts()
  readonly timeline: TimelineRecorder
  readonly tasks: TaskRecorder
  readonly tools = new Map<string, ToolRecorder>()
  readonly inFlight = new InFlight()
  readonly faults = new FaultRecorder()
  readonly errors = new ErrorCounts()
  readonly latency = new Histogram()

  constructor(now?: () => number) {
    this.timeline = new TimelineRecorder(now)
    this.tasks = new TaskRecorder(this.counts, this.timeline)
  }

  /** Records a call that was cut after this time in flight, and after waits for `Retry-After`. */
  abandoned(tool: string, ms: number, askedMs = 0): void {
    this.inFlight.remove(tool)
    const cut = this.#tool(tool)
    cut.abandoned++
    cut.cutMs.push(ms)
    cut.askedMs += askedMs
  }

  retried(tool: string): void {
    this.counts.retries++
    this.timeline.current.retries++
    this.#tool(tool).counts.retries++
  }

  attempt(tool: string, response: CallResponse, latencyMs: number, correct: boolean): void {
    const { kind } = response
    // A slow failure may be the time-out of a gateway in front of a hung server.
    const isPrompt = kind !== 'timeout' && latencyMs < PROMPT_MS
    if (isPrompt || kind === 'ok' || kind === 'tool') {
      this.timeline.responded(this.counts.calls, latencyMs)
    }
    if (response.markers.length > 0) this.faults.add(tool, response, latencyMs, correct)
  }

  call(tool: string, outcome: CallOutcome): void {
    const { counts } = this
    this.inFlight.remove(tool)
    counts.calls++
    for (const check of CHECKS) counts[check] += Number(outcome[check])
    counts.success += Number(outcome.success)
    this.latency.add(outcome.latencyMs)
    this.#tool(tool).add(outcome)
    const slot = this.timeline.current
    slot.calls++
    slot.ok += Number(outcome.success)
    slot.latency.add(outcome.latencyMs)
    slot.inFlight = this.inFlight.total
    const { response, origin } = outcome
    if (response.kind === 'ok') return
    this.errors.add(response.kind, origin, response.code)
    slot.errors[origin]++
  }

  #tool(name: string): ToolRecorder {
    const known = this.tools.get(name)
    if (known !== undefined) return known
    const made = new ToolRecorder(name)
    this.tools.set(name, made)
    return made
  }
}

/** Counts in-flight calls. */
class InFlight {
  readonly byTool = new Map<string, number>()
  total = 0

  add(tool: string): void {
    this.total++
    this.byTool.set(tool, (this.byTool.get(tool) ?? 0) + 1)
  }

  remove(tool: string): void {
    this.total--
    this.byTool.set(tool, this.byTool.get(tool)! - 1)
  }
}
