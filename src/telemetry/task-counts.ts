import type { MetricsDetail } from './metric-table.ts'
import { type Count, Counts } from './series.ts'
import { ALL_TOOLS } from './text-format.ts'

/** Bounds the series of tool, fault and verdict: beyond this a new one is counted under `other`. */
const MAX_SERIES = 10_000
/** The tools of one task that are counted. */
const MAX_TOOLS = 16
/** Verdicts that alerts name with their tool, at any detail. */
const ALERTED: ReadonlySet<string> = new Set(['runaway', 'possible_duplicate'])

const AFTER = 'squall_after_fault_total'

type AfterLabels = { readonly tool: string; readonly fault: string; readonly verdict: string }
type DuplicateLabels = { readonly tool: string; readonly idempotent: string }

/** The reaction of an agent to a fault. */
interface AfterFault {
  readonly verdict: string
  /** Undefined for calls of other methods. */
  readonly tool: string | undefined
  /** True for a tool that declares that calls may be repeated. */
  readonly isSafe: boolean
  /** The faults, and the origin of an error that no fault caused. */
  readonly causes: readonly string[]
  /** True when the client learned of the error, or got a changed result. */
  readonly isNoticed: boolean
  readonly trace: string | undefined
}

/** Counts by name. */
class NameCounts extends Map<string, number> {
  add(name: string): void {
    this.set(name, (this.get(name) ?? 0) + 1)
  }
}

/** Counts by tool the tasks that called it, and their calls without retries. */
class ToolCounts extends Map<string, { tasks: number; calls: number }> {
  readonly #labelOf: (name: string) => string

  constructor(labelOf: (name: string) => string) {
    super()
    this.#labelOf = labelOf
  }

  /** Counts a call of a task, whose tools so far are `known`. */
  add(name: string, known: string[]): void {
    const tool = this.#labelOf(name)
    const isFirst = !known.includes(tool)
    if (isFirst && known.length >= MAX_TOOLS) return
    let counts = this.get(tool)
    if (counts === undefined) this.set(tool, (counts = { tasks: 0, calls: 0 }))
    counts.calls++
    if (!isFirst) return
    known.push(tool)
    counts.tasks++
  }
}

/** Counts tasks of agents, and what agents did after faults. */
export class TaskCounts {
  open = 0
  retries = 0
  wasted = 0
  /** Results that a fault changed, and with which the agent went on. */
  silent = 0
  /** By the kind of key that named their task. */
  readonly calls = new NameCounts()
  /** The tasks that have ended, by result. */
  readonly ended = new NameCounts()
  /** The events by verdict; an event with several causes counts once. */
  readonly verdicts = new NameCounts()
  readonly tools: ToolCounts
  readonly #toolOf: (name: string) => string
  readonly #after = new Counts<AfterLabels>(AFTER, MAX_SERIES)
  /** The verdicts that scrapes show. */
  readonly #shownAfter: Counts<AfterLabels>
  readonly #duplicates = new Counts<DuplicateLabels>('squall_task_duplicate_executions_total')

  /** `toolOf` returns the label of a tool in all metrics. */
  constructor(toolOf: (name: string) => string, detail: MetricsDetail = 'full') {
    this.#toolOf = toolOf
    this.tools = new ToolCounts(toolOf)
    this.#shownAfter = detail === 'full' ? this.#after : new Counts(AFTER, MAX_SERIES)
  }

  /** Returns the verdicts by tool and cause, the most frequent first. */
  get after(): readonly Readonly<Pick<Count<AfterLabels>, 'labels' | 'value'>>[] {
    return [...this.#after].sort((a, b) => b.value - a.value)
  }

  /** Returns the calls that were executed twice, by tool. */
  get duplicates(): readonly Readonly<Pick<Count<DuplicateLabels>, 'labels' | 'value'>>[] {
    return [...this.#duplicates]
  }

  /** Counts an event that has its verdict. */
  decided({ verdict, tool: name, isSafe, causes, isNoticed, trace }: AfterFault): void {
    this.verdicts.add(verdict)
    if (verdict === 'continued' && isNoticed) this.silent++
    const tool = name === undefined ? '' : this.#toolOf(name)
    if (verdict === 'duplicate_execution') {
      this.#duplicates.add({ tool, idempotent: isSafe ? 'declared' : 'not_declared' })
    }
    for (const fault of causes) {
      const labels = { tool, fault, verdict }
      this.#after.add(labels, trace)
      if (this.#shownAfter === this.#after) continue
      this.#shownAfter.add(ALERTED.has(verdict) ? labels : { ...labels, tool: ALL_TOOLS }, trace)
    }
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
}
