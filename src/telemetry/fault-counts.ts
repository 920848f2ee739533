import type { MetricsDetail } from './metric-table.ts'
import { Count, Histogram, type Series } from './series.ts'
import type { InjectedFault } from './telemetry.ts'
import type { TextWriter } from './text-writer.ts'
import { MAX_TOOL_LABEL, OTHER, toolLabel } from './text-format.ts'

const MAX_RULES = 2_000
// Bounds the pairs of rule and tool: beyond this a new pair is counted under the tool `other`.
const MAX_SERIES = 20_000

/** Counts the injections of one rule by fault and tool. */
class RuleCell implements Series {
  readonly rule: string
  readonly faults = new Map<string, Map<string, Count>>()
  delays: Histogram | undefined

  constructor(rule: string) {
    this.rule = rule
  }

  write(out: TextWriter): void {
    for (const tools of this.faults.values()) for (const count of tools.values()) count.write(out)
  }
}

/** Counts injections with three lookups per injected fault. */
export class FaultCounts {
  readonly #toolOf: (name: string) => string
  readonly #detail: MetricsDetail | undefined
  readonly #rules = new Map<string, RuleCell>()
  readonly #otherRule = new RuleCell(OTHER)
  #series = 0

  /** `toolOf` returns the label of a tool in all metrics. */
  constructor(toolOf: (name: string) => string, detail?: MetricsDetail) {
    this.#toolOf = toolOf
    this.#detail = detail
    this.#rules.set(OTHER, this.#otherRule)
  }

  add({ rule, fault, tool, first, delaySeconds, trace }: InjectedFault): void {
    const cell = this.#ruleCell(rule)
    if (first) this.#count(cell, fault, tool === undefined ? '' : this.#toolOf(tool)).add(trace)
    if (delaySeconds === undefined) return
    const name = 'squall_injected_delay_seconds'
    const delays = (cell.delays ??= new Histogram(name, { rule: cell.rule }, this.#detail))
    delays.observe(delaySeconds, trace)
  }

  /** Maps each metric of injections to its series, rule by rule. */
  sources() {
    const rules = [...this.#rules.values()]
    return {
      squall_faults_injected_total: rules,
      squall_injected_delay_seconds: rules.map(({ delays }) => delays),
    } as const
  }

  #ruleCell(name: string): RuleCell {
    const known = name.length <= MAX_TOOL_LABEL ? this.#rules.get(name) : undefined
    if (known !== undefined) return known
    const label = toolLabel(name)
    const alike = this.#rules.get(label)
    if (alike !== undefined) return alike
    if (this.#rules.size > MAX_RULES) return this.#otherRule
    const cell = new RuleCell(label)
    this.#rules.set(label, cell)
    return cell
  }

  #count({ rule, faults }: RuleCell, fault: string, tool: string): Count {
    let tools = faults.get(fault)
    if (tools === undefined) faults.set(fault, (tools = new Map()))
    const known = tools.get(tool) ?? (this.#series < MAX_SERIES ? undefined : tools.get(OTHER))
    if (known !== undefined) return known
    const labels = { fault, tool: this.#series < MAX_SERIES ? tool : OTHER, rule }
    const count = new Count('squall_faults_injected_total', labels)
    tools.set(labels.tool, count)
    this.#series++
    return count
  }
}
