import { BucketCounts } from './bucket-counts.ts'
import { bucketsOf } from './metric-table.ts'
import { pushHistogram, type Sample } from './sampled-metric.ts'
import type { InjectedFault } from './telemetry.ts'
import { MAX_TOOL_LABEL, toolLabel } from './tool-label.ts'

const OTHER = 'other'
const MAX_RULES = 2_000
// Every rule could meet every tool: beyond this a new pair is counted without its tool.
const MAX_SERIES = 10_000
const DELAY_BOUNDS = bucketsOf('squall_injected_delay_seconds')

/** How often one fault of one rule hit one tool. */
interface Cell {
  readonly tool: string
  count: number
}

/** Everything that is counted for one rule. */
class RuleCell {
  readonly labels: { readonly rule: string }
  readonly faults = new Map<string, Map<string, Cell>>()
  delays: BucketCounts | undefined

  constructor(rule: string) {
    this.labels = { rule }
  }
}

/** Counts what faults did: three lookups per fault, and then plain numbers. */
export class FaultCounts {
  readonly #toolOf: (name: string) => string
  readonly #rules = new Map<string, RuleCell>()
  readonly #otherRule = new RuleCell(OTHER)
  #series = 0

  /** `toolOf` gives the label that all metrics know a tool by. */
  constructor(toolOf: (name: string) => string) {
    this.#toolOf = toolOf
    this.#rules.set(OTHER, this.#otherRule)
  }

  add({ rule, fault, tool, first, delaySeconds }: InjectedFault): void {
    const cell = this.#ruleCell(rule)
    if (first) this.#count(cell, fault, tool === undefined ? '' : this.#toolOf(tool))
    if (delaySeconds !== undefined) {
      ;(cell.delays ??= new BucketCounts(DELAY_BOUNDS)).observe(delaySeconds)
    }
  }

  /** Samples of the faults that took effect. */
  injected(): Sample[] {
    const samples: Sample[] = []
    for (const { labels, faults } of this.#rules.values()) {
      for (const [fault, tools] of faults) {
        for (const { tool, count } of tools.values()) {
          samples.push({ labels: { fault, tool }, sharedLabels: labels, value: count })
        }
      }
    }
    return samples
  }

  /** Samples of how long faults made calls wait. */
  delays(): Sample[] {
    const samples: Sample[] = []
    for (const { labels, delays } of this.#rules.values()) {
      if (delays !== undefined) {
        pushHistogram(samples, 'squall_injected_delay_seconds', labels, delays)
      }
    }
    return samples
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

  #count({ faults }: RuleCell, fault: string, tool: string): void {
    let tools = faults.get(fault)
    if (tools === undefined) {
      tools = new Map()
      faults.set(fault, tools)
    }
    const cell = tools.get(tool) ?? this.#newCell(tools, tool)
    cell.count++
  }

  #newCell(tools: Map<string, Cell>, tool: string): Cell {
    const label = this.#series < MAX_SERIES ? tool : OTHER
    const known = tools.get(label)
    if (known !== undefined) return known
    const cell = { tool: label, count: 0 }
    tools.set(label, cell)
    this.#series++
    return cell
  }
}
