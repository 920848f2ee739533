import { BucketCounts, HistogramText } from './bucket-counts.ts'
import { exemplified, type Exemplar } from './exemplar.ts'
import { bucketsOf } from './metric-table.ts'
import type { InjectedFault } from './telemetry.ts'
import { labelsText, seriesText, type TextFormat } from './text-format.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'
import { MAX_TOOL_LABEL, toolLabel } from './tool-label.ts'

const OTHER = 'other'
const MAX_RULES = 2_000
// Bounds the pairs of rule and tool: beyond this a new pair is counted under the tool `other`.
const MAX_SERIES = 20_000
const FAULTS = 'squall_faults_injected_total'
const DELAY = 'squall_injected_delay_seconds'
const DELAY_BOUNDS = bucketsOf(DELAY)

/** Counts the injections of one fault of one rule into one tool. */
interface Cell {
  readonly tool: string
  count: number
  exemplar: Exemplar | undefined
  /** The text before the count, made at the first scrape. */
  start: LineStart | undefined
}

/** Counts the injections of one rule. */
class RuleCell {
  readonly rule: string
  readonly faults = new Map<string, Map<string, Cell>>()
  delays: BucketCounts | undefined
  #delayText: HistogramText | undefined

  constructor(rule: string) {
    this.rule = rule
  }

  injected(out: TextWriter, format: TextFormat): void {
    const open = format === 'openmetrics'
    for (const [fault, tools] of this.faults) {
      for (const cell of tools.values()) {
        const start = (cell.start ??= this.#start(fault, cell.tool))
        out.line(start, cell.count, open ? cell.exemplar?.text : undefined)
      }
    }
  }

  delayed(out: TextWriter, format: TextFormat): void {
    if (this.delays === undefined) return
    this.#delayText ??= new HistogramText(DELAY, labelsText({ rule: this.rule }), DELAY_BOUNDS)
    this.delays.write(out, this.#delayText, format)
  }

  #start(fault: string, tool: string): LineStart {
    return lineStart(seriesText(FAULTS, labelsText({ fault, tool, rule: this.rule })))
  }
}

/** Counts injections with three lookups per injected fault. */
export class FaultCounts {
  readonly #toolOf: (name: string) => string
  readonly #rules = new Map<string, RuleCell>()
  readonly #otherRule = new RuleCell(OTHER)
  #series = 0

  /** `toolOf` returns the label of a tool in all metrics. */
  constructor(toolOf: (name: string) => string) {
    this.#toolOf = toolOf
    this.#rules.set(OTHER, this.#otherRule)
  }

  add({ rule, fault, tool, first, delaySeconds, trace }: InjectedFault): void {
    const cell = this.#ruleCell(rule)
    if (first) this.#count(cell, fault, tool === undefined ? '' : this.#toolOf(tool), trace)
    if (delaySeconds !== undefined) {
      const delays = (cell.delays ??= new BucketCounts(DELAY_BOUNDS))
      delays.observe(delaySeconds, trace)
    }
  }

  /** Writes the lines of the faults that took effect, rule by rule. */
  *injected(out: TextWriter, format: TextFormat): Iterable<void> {
    for (const rule of this.#rules.values()) yield rule.injected(out, format)
  }

  /** Writes the lines of the injected delays, rule by rule. */
  *delays(out: TextWriter, format: TextFormat): Iterable<void> {
    for (const rule of this.#rules.values()) yield rule.delayed(out, format)
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

  #count({ faults }: RuleCell, fault: string, tool: string, trace: string | undefined): void {
    let tools = faults.get(fault)
    if (tools === undefined) {
      tools = new Map()
      faults.set(fault, tools)
    }
    const cell = tools.get(tool) ?? this.#newCell(tools, tool)
    cell.count++
    if (trace !== undefined) cell.exemplar = exemplified(cell.exemplar, trace)
  }

  #newCell(tools: Map<string, Cell>, tool: string): Cell {
    const label = this.#series < MAX_SERIES ? tool : OTHER
    const known = tools.get(label)
    if (known !== undefined) return known
    const cell: Cell = { tool: label, count: 0, exemplar: undefined, start: undefined }
    tools.set(label, cell)
    this.#series++
    return cell
  }
}
