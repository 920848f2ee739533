import { exemplified, type Exemplar } from './exemplar.ts'
import { labelsText, seriesText, type Sample, type TextFormat } from './text-format.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'

const AFTER = 'squall_after_fault_total'
const OTHER = 'other'
/** Bounds the series of tool, fault and verdict: beyond this a new one is counted under `other`. */
const MAX_SERIES = 10_000
/** The tools of one task that are counted. */
const MAX_TOOLS = 16

interface Cell {
  readonly tool: string
  readonly fault: string
  readonly verdict: string
  count: number
  exemplar: Exemplar | undefined
  readonly start: LineStart
}

type DuplicateLabels = { readonly tool: string; readonly idempotent: string }

/** One verdict about what an agent did after a fault. */
export interface AfterFault {
  /** Undefined for calls of other methods. */
  readonly tool: string | undefined
  /** The fault, or the origin of an error that no fault caused. */
  readonly fault: string
  readonly verdict: string
  readonly trace: string | undefined
}

/** Counts tasks of agents, and what agents did after faults. */
export class TaskCounts {
  open = 0
  retries = 0
  wasted = 0
  /** Results that a fault changed, and with which the agent went on. */
  silent = 0
  readonly calls = new Map<string, number>()
  readonly ended = new Map<string, number>()
  /** The events by verdict; an event with several causes counts once. */
  readonly verdicts = new Map<string, number>()
  /** By tool: the tasks that called it, and their calls without retries. */
  readonly tools = new Map<string, { tasks: number; calls: number }>()
  readonly #toolOf: (name: string) => string
  readonly #after = new Map<string, Cell>()
  readonly #duplicates = new Map<string, { labels: DuplicateLabels; value: number }>()

  /** `toolOf` returns the label of a tool in all metrics. */
  constructor(toolOf: (name: string) => string) {
    this.#toolOf = toolOf
  }

  /** Counts a call by the kind of key that named its task. */
  called(by: string): void {
    this.calls.set(by, (this.calls.get(by) ?? 0) + 1)
  }

  /** Counts a call of a task, whose tools so far are `known`. */
  ofTool(name: string, known: string[]): void {
    const tool = this.#toolOf(name)
    const isFirst = !known.includes(tool)
    if (isFirst && known.length >= MAX_TOOLS) return
    let counts = this.tools.get(tool)
    if (counts === undefined) this.tools.set(tool, (counts = { tasks: 0, calls: 0 }))
    counts.calls++
    if (!isFirst) return
    known.push(tool)
    counts.tasks++
  }

  /** Counts a task that has ended. */
  endedAs(result: string): void {
    this.ended.set(result, (this.ended.get(result) ?? 0) + 1)
  }

  /** Counts an event that has its verdict. */
  decided(verdict: string): void {
    this.verdicts.set(verdict, (this.verdicts.get(verdict) ?? 0) + 1)
  }

  /** Returns the verdicts by tool and cause, the most frequent first. */
  get after(): readonly Readonly<Pick<Cell, 'tool' | 'fault' | 'verdict' | 'count'>>[] {
    return [...this.#after.values()].sort((a, b) => b.count - a.count)
  }

  /** Returns the calls that were executed twice, by tool. */
  get duplicates(): readonly { readonly labels: DuplicateLabels; readonly value: number }[] {
    return [...this.#duplicates.values()]
  }

  afterFault({ tool, fault, verdict, trace }: AfterFault): void {
    const label = tool === undefined ? '' : this.#toolOf(tool)
    const cell = this.#cell(label, fault, verdict) ?? this.#cell(OTHER, fault, verdict, Infinity)!
    cell.count++
    if (trace !== undefined) cell.exemplar = exemplified(cell.exemplar, trace)
  }

  /** Counts a call that was executed twice; `idempotent` says whether its tool declares that safe. */
  duplicated(tool: string | undefined, idempotent: string): void {
    const labels = { tool: tool === undefined ? '' : this.#toolOf(tool), idempotent }
    const key = labelsText(labels)
    const cell = this.#duplicates.get(key)
    if (cell === undefined) this.#duplicates.set(key, { labels, value: 1 })
    else cell.value++
  }

  /** Maps each metric of tasks to the function that writes its lines. */
  sources(
    out: TextWriter,
    format: TextFormat,
    of: (samples: () => readonly Sample[]) => (name: string) => Iterable<void>,
  ) {
    // Without a task there are no lines, as without the option.
    const total = (value: () => number) =>
      of(() => (this.calls.size === 0 ? [] : [{ labels: {}, value: value() }]))
    const by = (label: string, counts: ReadonlyMap<string, number>) =>
      of(() => [...counts].map(([key, value]) => ({ labels: { [label]: key }, value })))
    return {
      squall_after_fault_total: () => [this.#writeAfter(out, format)],
      squall_tasks_total: by('result', this.ended),
      squall_tasks_open: total(() => this.open),
      squall_task_calls_total: by('by', this.calls),
      squall_task_retries_total: total(() => this.retries),
      squall_task_wasted_calls_total: total(() => this.wasted),
      squall_task_duplicate_executions_total: of(() => [...this.#duplicates.values()]),
    }
  }

  #writeAfter(out: TextWriter, format: TextFormat): void {
    for (const { start, count, exemplar } of this.#after.values()) {
      out.line(start, count, format === 'openmetrics' ? exemplar?.text : undefined)
    }
  }

  /** Returns undefined when a new series exceeds the bound. */
  #cell(tool: string, fault: string, verdict: string, most = MAX_SERIES): Cell | undefined {
    const key = `${verdict} ${fault} ${tool}`
    let cell = this.#after.get(key)
    if (cell === undefined && this.#after.size < most) {
      const start = lineStart(seriesText(AFTER, labelsText({ tool, fault, verdict })))
      this.#after.set(key, (cell = { tool, fault, verdict, count: 0, exemplar: undefined, start }))
    }
    return cell
  }
}
