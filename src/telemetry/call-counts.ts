import { KNOWN_METHODS } from '../mcp/known-methods.ts'
import { endIndex, ENDS } from './outcome-index.ts'
import type { CallRecord } from './telemetry.ts'
import { labelsText, seriesText, type TextFormat } from './text-format.ts'
import { type Counts, ToolCell } from './tool-cell.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'
import { MAX_TOOL_LABEL, toolLabel } from './tool-label.ts'
import type { ToolSample } from './tool-sample.ts'

const TOOL_CALL = 'tools/call'
const TASK_RESULT = 'tasks/result'
const OTHER = 'other'

/** Counts the calls of one pair of method and tool. */
class CallCell {
  readonly ends = new Float64Array(ENDS.length)
  readonly tool: ToolCell
  readonly #method: string
  #starts: (LineStart | undefined)[] | undefined

  /** True for requests about tasks, which are no calls of the tool. */
  readonly isOfTask: boolean

  constructor(method: string, tool: ToolCell, isOfTask = false) {
    this.#method = method
    this.tool = tool
    this.isOfTask = isOfTask
  }

  /** Writes the lines of the calls that ended. */
  ended(out: TextWriter): void {
    const starts = (this.#starts ??= ENDS.map(() => undefined))
    for (let i = 0; i < this.ends.length; i++) {
      const value = this.ends[i]!
      if (value > 0) out.line((starts[i] ??= this.#start(i)), value)
    }
  }

  #start(end: number): LineStart {
    const { outcome, origin } = ENDS[end]!
    const labels = { outcome, origin, method: this.#method, tool: this.tool.tool }
    return lineStart(seriesText('squall_calls_total', labelsText(labels)))
  }
}

/** Counts calls with one map lookup per call. */
export class CallCounts {
  readonly #noTool = new ToolCell('')
  readonly #methods = new Map<string, CallCell>()
  readonly #otherMethod = new CallCell(OTHER, this.#noTool)
  readonly #tools = new Map<string, CallCell>()
  readonly #tasks = new Map<string, CallCell>()
  readonly #otherTool = new CallCell(TOOL_CALL, new ToolCell(OTHER))
  readonly #capacity: number
  /** Calls counted under `other` because the bound on tools was reached. */
  dropped = 0

  constructor(maxTools: number) {
    for (const method of KNOWN_METHODS) {
      this.#methods.set(method, new CallCell(method, this.#noTool))
    }
    // Labels that do not count towards the bound.
    this.#tools.set('', this.#methods.get(TOOL_CALL) ?? new CallCell(TOOL_CALL, this.#noTool))
    this.#tools.set(OTHER, this.#otherTool)
    this.#capacity = maxTools + this.#tools.size
  }

  add(record: CallRecord): void {
    const { method, responseBytes } = record
    const cell =
      method === TOOL_CALL
        ? (this.#toolCell(record.name ?? '') ?? this.#droppedTool())
        : record.tool !== undefined
          ? this.#taskCell(method, record.tool)
          : (this.#methods.get(method) ?? this.#otherMethod)
    const end = endIndex(record.outcome, record.origin)
    cell.ends[end]!++
    cell.tool.add(record, end)
    // The other requests about a task do not wait for the tool.
    const isTimed = !cell.isOfTask || method === TASK_RESULT
    const timed = isTimed ? cell.tool : this.#noTool
    timed.time(record)
    const isOfTool = method === TOOL_CALL || cell.isOfTask
    if (responseBytes !== undefined && isOfTool && ENDS[end]!.isResult) {
      cell.tool.addResult(responseBytes)
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

  /** Writes the lines of the calls that ended. */
  *ended(out: TextWriter): Iterable<void> {
    for (const cell of this.#cells()) yield cell.ended(out)
  }

  /** Writes the lines of the calls that failed, by tool; all other methods share the empty tool. */
  *failed(out: TextWriter, format: TextFormat): Iterable<void> {
    const sums = new Float64Array(ENDS.length)
    for (const [tool, cells] of this.#byTool()) {
      sums.fill(0)
      for (const { ends } of cells) ends.forEach((value, i) => (sums[i]! += value))
      yield tool.failed(out, sums, format)
    }
  }

  /** Writes the lines of the calls that ended well, but changed by a fault. */
  *changed(out: TextWriter, format: TextFormat): Iterable<void> {
    for (const [tool, cells] of this.#byTool()) {
      // Shown from the first call on, so that the first increase is seen.
      if (cells.some(wasCalled)) yield tool.changed(out, format)
    }
  }

  /** Writes the lines of the calls' durations. */
  *durations(out: TextWriter, format: TextFormat): Iterable<void> {
    for (const tool of this.#byTool().keys()) yield tool.durations(out, format)
  }

  /** Writes the lines of the upstream's response times. */
  *upstreamDurations(out: TextWriter, format: TextFormat): Iterable<void> {
    for (const tool of this.#byTool().keys()) yield tool.upstreamDurations(out, format)
  }

  /** Writes the lines of the sizes of results. */
  *resultSizes(out: TextWriter, format: TextFormat): Iterable<void> {
    for (const tool of this.#byTool().keys()) yield tool.resultSizes(out, format)
  }

  /** Returns the counts of each tool that was called; all other methods share the empty tool. */
  tools(): ToolSample[] {
    const samples: ToolSample[] = []
    for (const [tool, cells] of this.#byTool()) {
      const called = cells.filter((cell) => wasCalled(cell) && !cell.isOfTask)
      if (called.length === 0) continue
      const sample = tool.sample()
      samples.push(sample)
      for (const { ends } of called) addEnds(ends, sample)
    }
    return samples
  }

  #cells(): Set<CallCell> {
    const tools = [...this.#tools.values(), ...this.#tasks.values()]
    return new Set([...this.#methods.values(), this.#otherMethod, ...tools])
  }

  #byTool(): Map<ToolCell, CallCell[]> {
    const tools = new Map<ToolCell, CallCell[]>()
    for (const cell of this.#cells()) {
      const cells = tools.get(cell.tool)
      if (cells === undefined) tools.set(cell.tool, [cell])
      else cells.push(cell)
    }
    return tools
  }
}

function wasCalled({ ends }: CallCell): boolean {
  return ends.some((value) => value > 0)
}

function addEnds(ends: Float64Array, { calls, errors }: { calls: Counts; errors: Counts }): void {
  ends.forEach((value, i) => {
    const { origin, isError } = ENDS[i]!
    calls[origin] += value
    if (isError) errors[origin] += value
  })
}
