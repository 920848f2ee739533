import type { Origin, Outcome } from '../mcp/call.ts'
import { BucketCounts } from './bucket-counts.ts'
import { KNOWN_METHODS } from './known-methods.ts'
import { bucketsOf } from './metric-table.ts'
import { pushHistogram, type Sample } from './sampled-metric.ts'
import type { CallRecord } from './telemetry.ts'
import { MAX_TOOL_LABEL, toolLabel } from './tool-label.ts'
import type { ToolSample } from './tool-sample.ts'

const OUTCOME: Readonly<Record<Outcome, number>> = {
  ok: 0,
  tool_error: 1,
  rpc_error: 2,
  http_error: 3,
  reset: 4,
  timeout: 5,
  cancelled: 6,
  incomplete: 7,
}
/** The position of each origin in arrays of counters. */
export const ORIGIN: Readonly<Record<Origin, number>> = { upstream: 0, injected: 1, squall: 2 }
/** Origins by position. */
export const ORIGINS = Object.keys(ORIGIN) as readonly Origin[]
const OUTCOMES = Object.keys(OUTCOME) as readonly Outcome[]
// A client that gives a call up before its time is no error of anybody's.
const NO_ERROR = new Set<string>(['ok', 'cancelled'])
const TOOL_CALL = 'tools/call'
const OTHER = 'other'
const CALL_BOUNDS = bucketsOf('squall_call_duration_seconds')
const UPSTREAM_BOUNDS = bucketsOf('squall_upstream_duration_seconds')

type Counts = Record<Origin, number>

/** The durations of one tool; those of all other methods share the empty tool. */
class ToolTimes {
  readonly tool: string
  readonly call: (BucketCounts | undefined)[] = [undefined, undefined, undefined]
  readonly callLabels: readonly Readonly<Record<string, string>>[]
  readonly upstreamLabels: Readonly<Record<string, string>>
  upstream: BucketCounts | undefined

  constructor(tool: string) {
    this.tool = tool
    this.callLabels = ORIGINS.map((origin) => ({ tool, origin }))
    this.upstreamLabels = { tool }
  }

  /** The durations, with no calls counted yet. */
  sample(): ToolSample & { calls: Counts; errors: Counts } {
    const seconds = new Float64Array(CALL_BOUNDS.length + 1)
    const upstreamSeconds = new Float64Array(UPSTREAM_BOUNDS.length + 1)
    for (const counts of this.call) counts?.addTo(seconds)
    this.upstream?.addTo(upstreamSeconds)
    return {
      tool: this.tool,
      calls: { upstream: 0, injected: 0, squall: 0 },
      errors: { upstream: 0, injected: 0, squall: 0 },
      seconds: { bounds: CALL_BOUNDS, counts: seconds },
      upstreamSeconds: { bounds: UPSTREAM_BOUNDS, counts: upstreamSeconds },
    }
  }
}

/** Everything that is counted for one pair of method and tool. */
class CallCell {
  readonly labels: { readonly method: string; readonly tool: string }
  readonly ends = new Float64Array(ORIGINS.length * OUTCOMES.length)
  readonly times: ToolTimes

  constructor(method: string, times: ToolTimes) {
    this.labels = { method, tool: times.tool }
    this.times = times
  }
}

/** Counts calls: one map lookup per call, and then plain numbers. */
export class CallCounts {
  readonly #noTool = new ToolTimes('')
  readonly #methods = new Map<string, CallCell>()
  readonly #otherMethod = new CallCell(OTHER, this.#noTool)
  readonly #tools = new Map<string, CallCell>()
  readonly #otherTool = new CallCell(TOOL_CALL, new ToolTimes(OTHER))
  readonly #capacity: number
  /** Calls whose tool fell to `other` because the bound was reached. */
  dropped = 0

  constructor(maxTools: number) {
    for (const method of KNOWN_METHODS) {
      this.#methods.set(method, new CallCell(method, this.#noTool))
    }
    // Labels that are not a client's to take up room with.
    this.#tools.set('', this.#methods.get(TOOL_CALL) ?? new CallCell(TOOL_CALL, this.#noTool))
    this.#tools.set(OTHER, this.#otherTool)
    this.#capacity = maxTools + this.#tools.size
  }

  add(record: CallRecord): void {
    const { method, origin, seconds, upstreamSeconds } = record
    const cell =
      method === TOOL_CALL
        ? (this.#toolCell(record.name ?? '') ?? this.#droppedTool())
        : (this.#methods.get(method) ?? this.#otherMethod)
    const from = ORIGIN[origin]
    cell.ends[from * OUTCOMES.length + OUTCOME[record.outcome]]!++
    const { times } = cell
    if (seconds !== undefined) (times.call[from] ??= new BucketCounts(CALL_BOUNDS)).observe(seconds)
    if (upstreamSeconds !== undefined) {
      ;(times.upstream ??= new BucketCounts(UPSTREAM_BOUNDS)).observe(upstreamSeconds)
    }
  }

  /** The label that a tool has in all metrics. */
  toolOf(name: string): string {
    return (this.#toolCell(name) ?? this.#otherTool).labels.tool
  }

  /** Undefined when the tool is one too many. */
  #toolCell(name: string): CallCell | undefined {
    // The length first: no hashing of a name of a megabyte.
    const known = name.length <= MAX_TOOL_LABEL ? this.#tools.get(name) : undefined
    return known ?? this.#unknownTool(name)
  }

  #unknownTool(name: string): CallCell | undefined {
    const label = toolLabel(name)
    const known = this.#tools.get(label)
    if (known !== undefined) return known
    if (this.#tools.size >= this.#capacity) return undefined
    const cell = new CallCell(TOOL_CALL, new ToolTimes(label))
    this.#tools.set(label, cell)
    return cell
  }

  #droppedTool(): CallCell {
    this.dropped++
    return this.#otherTool
  }

  /** Samples of the calls that ended. */
  ended(): Sample[] {
    const samples: Sample[] = []
    for (const cell of this.#cells()) {
      cell.ends.forEach((value, i) => {
        if (value === 0) return
        const origin = ORIGINS[Math.floor(i / OUTCOMES.length)] ?? ''
        const outcome = OUTCOMES[i % OUTCOMES.length] ?? ''
        samples.push({ labels: { outcome, origin }, sharedLabels: cell.labels, value })
      })
    }
    return samples
  }

  /** Samples of the calls that failed, by tool; those of all other methods share the empty tool. */
  failed(): Sample[] {
    const byTool = new Map<string, Float64Array>()
    for (const { labels, ends } of this.#cells()) {
      const sums = byTool.get(labels.tool) ?? new Float64Array(ends.length)
      byTool.set(labels.tool, sums)
      ends.forEach((value, i) => (sums[i]! += value))
    }
    const samples: Sample[] = []
    for (const [tool, sums] of byTool) {
      sums.forEach((value, i) => {
        const kind = OUTCOMES[i % OUTCOMES.length] ?? ''
        if (value === 0 || NO_ERROR.has(kind)) return
        const origin = ORIGINS[Math.floor(i / OUTCOMES.length)] ?? ''
        samples.push({ labels: { tool, kind, origin }, value })
      })
    }
    return samples
  }

  /** Samples of the calls' durations. */
  durations(): Sample[] {
    const samples: Sample[] = []
    for (const { call, callLabels } of this.#times()) {
      call.forEach((counts, i) => {
        const labels = callLabels[i]
        if (counts === undefined || labels === undefined) return
        pushHistogram(samples, 'squall_call_duration_seconds', labels, counts)
      })
    }
    return samples
  }

  /** Samples of what the app took. */
  upstreamDurations(): Sample[] {
    const samples: Sample[] = []
    for (const { upstream, upstreamLabels } of this.#times()) {
      if (upstream === undefined) continue
      pushHistogram(samples, 'squall_upstream_duration_seconds', upstreamLabels, upstream)
    }
    return samples
  }

  /** What there is of each tool that was called; all other methods share the empty tool. */
  tools(): ToolSample[] {
    const samples = new Map<ToolTimes, ToolSample & { calls: Counts; errors: Counts }>()
    for (const { ends, times } of this.#cells()) {
      if (!ends.some((value) => value > 0)) continue
      const sample = samples.get(times) ?? times.sample()
      samples.set(times, sample)
      ends.forEach((value, i) => {
        const origin = ORIGINS[Math.floor(i / OUTCOMES.length)] ?? 'upstream'
        sample.calls[origin] += value
        if (!NO_ERROR.has(OUTCOMES[i % OUTCOMES.length] ?? '')) sample.errors[origin] += value
      })
    }
    return [...samples.values()]
  }

  #cells(): Set<CallCell> {
    return new Set([...this.#methods.values(), this.#otherMethod, ...this.#tools.values()])
  }

  #times(): Set<ToolTimes> {
    return new Set([...this.#cells()].map((cell) => cell.times))
  }
}
