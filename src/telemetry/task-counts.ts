import type { MetricsDetail } from './metric-table.ts'
import { type Count, Counts } from './series.ts'
import { ALL_TOOLS } from './tool-label.ts'

/** Bounds the series of tool, fault and verdict: beyond this a new one is counted under `other`. */
const MAX_SERIES = 10_000
/** The tools of one task that are counted. */
const MAX_TOOLS = 16
/** Verdicts that alerts name with their tool, at any detail. */
const ALERTED: ReadonlySet<string> = new Set(['runaway', 'possible_duplicate'])

const AFTER = 'squall_after_fault_total'

type AfterLabels = { readonly tool: string; readonly fault: string; readonly verdict: string }
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
  readonly #after = new Counts<AfterLabels>(AFTER, MAX_SERIES)
  /** The verdicts that scrapes show. */
  readonly #shownAfter: Counts<AfterLabels>
  readonly #duplicates = new Counts<DuplicateLabels>('squall_task_duplicate_executions_total')

  /** `toolOf` returns the label of a tool in all metrics. */
  constructor(toolOf: (name: string) => string, detail: MetricsDetail = 'full') {
    this.#toolOf = toolOf
    this.#shownAfter = detail === 'full' ? this.#after : new Counts(AFTER, MAX_SERIES)
  }

  /** Counts a call by the kind of key that named its task. */
  called(by: string): void {
    increase(this.calls, by)
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
    increase(this.ended, result)
  }

  /** Counts an event that has its verdict. */
  decided(verdict: string): void {
    increase(this.verdicts, verdict)
  }

  /** Returns the verdicts by tool and cause, the most frequent first. */
  get after(): readonly Readonly<Pick<Count<AfterLabels>, 'labels' | 'value'>>[] {
    return [...this.#after].sort((a, b) => b.value - a.value)
  }

  /** Returns the calls that were executed twice, by tool. */
  get duplicates(): readonly Readonly<Pick<Count<DuplicateLabels>, 'labels' | 'value'>>[] {
    return [...this.#duplicates]
  }

  afterFault({ tool, fault, verdict, trace }: AfterFault): void {
    const labels = { tool: this.#label(tool), fault, verdict }
    this.#after.add(labels, trace)
    if (this.#shownAfter === this.#after) return
    this.#shownAfter.add(ALERTED.has(verdict) ? labels : { ...labels, tool: ALL_TOOLS }, trace)
  }

  /** Counts a call that was executed twice; `idempotent` says whether its tool declares that safe. */
  duplicated(tool: string | undefined, idempotent: string): void {
    this.#duplicates.add({ tool: this.#label(tool), idempotent })
  }

  /** Maps each metric of tasks to its series. */
  sources() {
    // Without a task there are no lines, as without the option.
    const total = (value: number) => (this.calls.size === 0 ? undefined : value)
    return {
      squall_after_fault_total: [...this.#shownAfter],
      squall_tasks_total: Object.fromEntries(this.ended),
      squall_tasks_open: total(this.open),
      squall_task_calls_total: Object.fromEntries(this.calls),
      squall_task_retries_total: total(this.retries),
      squall_task_wasted_calls_total: total(this.wasted),
      squall_task_duplicate_executions_total: [...this.#duplicates],
    } as const
  }

  #label(tool: string | undefined): string {
    return tool === undefined ? '' : this.#toolOf(tool)
  }
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
