import { type Origin, ORIGINS } from '../mcp/call.ts'
import { KNOWN_METHODS } from '../mcp/known-methods.ts'
import { bucketsOf, type MetricName, type MetricsDetail } from './metric-table.ts'
import { endIndex, ENDS, noCounts, ORIGIN } from './outcome-index.ts'
import { Count, CountRow, Histogram } from './series.ts'
import type { CallRecord } from './telemetry.ts'
import { ALL_TOOLS, MAX_TOOL_LABEL, OTHER, toolLabel } from './text-format.ts'
import type { ToolSample } from './tool-sample.ts'

const TOOL_CALL = 'tools/call'
const TASK_RESULT = 'tasks/result'
const CALL = 'squall_call_duration_seconds'
const UPSTREAM = 'squall_upstream_duration_seconds'
const CALL_BOUNDS = bucketsOf(CALL)
const UPSTREAM_BOUNDS = bucketsOf(UPSTREAM)

/** Counts by tool alone; the calls of all other methods share the empty tool. */
class ToolCell {
  readonly tool: string
  readonly cells: CallCell[] = []
  readonly seconds: (Histogram | undefined)[] = ORIGINS.map(() => undefined)
  readonly #errors: CountRow
  upstream: Histogram | undefined
  result: Histogram | undefined
  readonly changed: Count
  readonly #detail: MetricsDetail | undefined

  constructor(tool: string, detail?: MetricsDetail) {
    this.tool = tool
    this.#detail = detail
    this.changed = new Count('squall_calls_changed_total', { tool })
    this.#errors = new CountRow('squall_errors_total', ENDS.length, (end) => {
      const { outcome: kind, origin } = ENDS[end]!
      return { tool, kind, origin }
    })
  }

  /** Counts how a call ended; `end` is the index of its outcome and origin. */
  add({ trace, changed }: CallRecord, end: number): void {
    if (changed === true) this.changed.add(trace)
    if (trace !== undefined && ENDS[end]!.isError) this.#errors.exemplify(end, trace)
  }

  /** Counts the durations of a call. */
  time({ origin, seconds, upstreamSeconds, trace }: CallRecord): void {
    if (seconds !== undefined) {
      const own = (this.seconds[ORIGIN[origin]] ??= this.#histogram(CALL, origin))
      own.observe(seconds, trace)
    }
    if (upstreamSeconds !== undefined) {
      const upstream = (this.upstream ??= this.#histogram(UPSTREAM))
      upstream.observe(upstreamSeconds, trace)
    }
  }

  /** Counts the size of a result. */
  addResult(bytes: number): void {
    const result = (this.result ??= this.#histogram('squall_result_bytes'))
    result.observe(bytes)
  }

  /** Sums up the calls that failed, which only their exemplars count apart. */
  errors(): CountRow {
    const { counts } = this.#errors
    counts.fill(0)
    for (const { ends } of this.cells) {
      ends.counts.forEach((count, end) => {
        if (ENDS[end]!.isError) counts[end]! += count
      })
    }
    return this.#errors
  }

  sample(): ToolSample {
    const seconds = new Float64Array(CALL_BOUNDS.length + 1)
    const upstreamSeconds = new Float64Array(UPSTREAM_BOUNDS.length + 1)
    for (const counts of this.seconds) counts?.addTo(seconds)
    this.upstream?.addTo(upstreamSeconds)
    const calls: Record<Origin, number> = noCounts()
    const errors: Record<Origin, number> = noCounts()
    for (const { ends } of this.cells.filter(isCalled)) {
      ends.counts.forEach((count, end) => {
        const { origin, outcome, isError } = ENDS[end]!
        calls[origin] += count
        // The server did not fail calls that a client gave up, or that a stop of Squall cut.
        if (isError && !(outcome === 'abandoned' && origin === 'real')) errors[origin] += count
      })
    }
    return {
      tool: this.tool,
      calls,
      errors,
      seconds: { bounds: CALL_BOUNDS, counts: seconds },
      upstreamSeconds: { bounds: UPSTREAM_BOUNDS, counts: upstreamSeconds },
      results: { count: this.result?.count ?? 0, bytes: this.result?.sum ?? 0 },
    }
  }

  // Apart from the counting, which V8 inlines up to a size.
  #histogram(name: MetricName, origin?: Origin): Histogram {
    const labels = { tool: this.tool, ...(origin !== undefined && { origin }) }
    return new Histogram(name, labels, this.#detail)
  }
}

/** Counts the calls of one pair of method and tool. */
class CallCell {
  readonly tool: ToolCell
  readonly ends: CountRow
  /** The numbers of `ends`, for a call at hand without a detour. */
  readonly counts: Float64Array
  /** True for requests about tasks, which do not call the tool. */
  readonly isOfTask: boolean

  constructor(method: string, cell: ToolCell, isOfTask = false) {
    const { tool } = cell
    this.tool = cell
    this.isOfTask = isOfTask
    this.ends = new CountRow('squall_calls_total', ENDS.length, (end) => {
      const { outcome, origin } = ENDS[end]!
      return { outcome, origin, method, tool }
    })
    this.counts = this.ends.counts
    cell.cells.push(this)
  }
}

/** Counts calls with one map lookup per call. */
export class CallCounts {
  readonly #noTool = new ToolCell('')
  /** The durations and sizes of all tools, and of no tool; undefined where each tool shows its own. */
  readonly #together: { readonly tools: ToolCell; readonly none: ToolCell } | undefined
  readonly #methods = new Map<string, CallCell>()
  readonly #otherMethod: CallCell
  readonly #tools = new Map<string, CallCell>()
  readonly #tasks = new Map<string, CallCell>()
  readonly #otherTool = new CallCell(TOOL_CALL, new ToolCell(OTHER))
  readonly #capacity: number
  /** Calls counted under `other` because the bound on tools was reached. */
  dropped = 0

  constructor(maxTools: number, detail: MetricsDetail = 'full') {
    if (detail !== 'full') {
      this.#together = { tools: new ToolCell(ALL_TOOLS, detail), none: new ToolCell('', detail) }
    }
    for (const method of KNOWN_METHODS) {
      this.#methods.set(method, new CallCell(method, this.#noTool))
    }
    this.#otherMethod = new CallCell(OTHER, this.#noTool)
    // Labels that do not count towards the bound.
    this.#tools.set('', this.#methods.get(TOOL_CALL) ?? new CallCell(TOOL_CALL, this.#noTool))
    this.#tools.set(OTHER, this.#otherTool)
    this.#capacity = maxTools + this.#tools.size
  }

  add(record: CallRecord): void {
    const { method, responseBytes, trace } = record
    const cell =
      method === TOOL_CALL
        ? (this.#toolCell(record.name ?? '') ?? this.#droppedTool())
        : record.tool !== undefined
          ? this.#taskCell(method, record.tool)
          : (this.#methods.get(method) ?? this.#otherMethod)
    const end = endIndex(record.outcome, record.origin)
    cell.counts[end]!++
    cell.tool.add(record, end)
    // Scrapes without squall_errors_total have the traces of errors here.
    const isShownHere = this.#together !== undefined && ENDS[end]!.isError
    if (isShownHere && trace !== undefined) cell.ends.exemplify(end, trace)
    // The other requests about a task do not wait for the tool.
    const isTimed = !cell.isOfTask || method === TASK_RESULT
    const timed = isTimed ? cell.tool : this.#noTool
    timed.time(record)
    this.#together?.[timed === this.#noTool ? 'none' : 'tools'].time(record)
    const isOfTool = method === TOOL_CALL || cell.isOfTask
    if (responseBytes !== undefined && isOfTool && ENDS[end]!.isResult) {
      cell.tool.addResult(responseBytes)
      this.#together?.[cell.tool === this.#noTool ? 'none' : 'tools'].addResult(responseBytes)
    }
  }

  /** Returns the label of a tool in all metrics. */
  labelOf(name: string): string {
    return (this.#toolCell(name) ?? this.#otherTool).tool.tool
  }

  /** Returns undefined when the tool exceeds the bound. */
  #toolCell(name: string): CallCell | undefined {
    // Checks the length first, because a long name would be hashed in full.
    const known = name.length <= MAX_TOOL_LABEL ? this.#tools.get(name) : undefined
    return known ?? this.#unknownTool(name)
  }

  #unknownTool(name: string): CallCell | undefined {
    const label = toolLabel(name)
    const known = this.#tools.get(label)
    if (known !== undefined) return known
    if (this.#tools.size >= this.#capacity) return undefined
    const cell = new CallCell(TOOL_CALL, new ToolCell(label))
    this.#tools.set(label, cell)
    return cell
  }

  /** Counts requests about tasks by tool. */
  #taskCell(method: string, tool: string): CallCell {
    const own = (this.#toolCell(tool) ?? this.#otherTool).tool
    const key = `${method} ${own.tool}`
    let cell = this.#tasks.get(key)
    if (cell === undefined) this.#tasks.set(key, (cell = new CallCell(method, own, true)))
    return cell
  }

  #droppedTool(): CallCell {
    this.dropped++
    return this.#otherTool
  }

  /** Maps each metric of calls to its series. */
  sources() {
    const tools = this.#toolCells()
    const timed = this.#together === undefined ? tools : Object.values(this.#together)
    const cells = [this.#methods, [['', this.#otherMethod]] as const, this.#tools, this.#tasks]
    return {
      squall_calls_total: new Set(cells.flatMap((each) => [...each]).map(([, { ends }]) => ends)),
      // A part of the calls, which a second family would only repeat.
      squall_errors_total: timed === tools ? tools.map((tool) => tool.errors()) : [],
      // Shown from the first call on, so that the first increase is seen.
      squall_calls_changed_total: tools.filter(wasSeen).map(({ changed }) => changed),
      squall_call_duration_seconds: timed.flatMap(({ seconds }) => seconds),
      squall_upstream_duration_seconds: timed.map(({ upstream }) => upstream),
      squall_result_bytes: timed.map(({ result }) => result),
      squall_tool_names_dropped_total: this.dropped,
    } as const
  }

  /** Returns the counts of each tool that was called; all other methods share the empty tool. */
  tools(): ToolSample[] {
    const called = this.#toolCells().filter(({ cells }) => cells.some(isCalled))
    return called.map((cell) => cell.sample())
  }

  #toolCells(): readonly ToolCell[] {
    return [...this.#tools.values()].map(({ tool }) => tool)
  }
}

/** Returns true for a tool with a call, or a request about a task. */
function wasSeen({ cells }: ToolCell): boolean {
  return cells.some(({ ends }) => ends.counts.some((count) => count > 0))
}

function isCalled({ ends, isOfTask }: CallCell): boolean {
  return !isOfTask && ends.counts.some((count) => count > 0)
}
