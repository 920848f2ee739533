import type { RuleSample, RulesSample, RulesSource } from './rules-sample.ts'
import { labelsText, seriesText, type Sample } from './text-format.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'
import { toolLabel } from './tool-label.ts'

// Exposed from the start, so that rates include the first increase.
const ALWAYS_SHOWN = 'injected'
// Counts that are not results of a call.
const NO_RESULTS: ReadonlySet<string> = new Set(['matched', 'sampled', 'value_too_long'])

interface LabelledRule extends RuleSample {
  readonly label: RuleLabel
}

/** Writes the metrics of rules from one sample per scrape. */
export class RuleMetrics {
  source: RulesSource | undefined
  #sample: RulesSample | undefined
  #rules: readonly LabelledRule[] = []
  #labels: ReadonlyMap<string, RuleLabel> = new Map()

  /** Samples the rules, so that all metrics of one scrape show the same moment. */
  refresh(): void {
    this.#sample = this.source?.()
    this.#label(this.#sample?.rules ?? [])
  }

  matches(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['matched'])
  }

  sampled(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['sampled'])
  }

  overflows(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['concurrency_limit'])
  }

  valuesTooLong(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['value_too_long'])
  }

  /** Writes the lines of active rules, and of withdrawn rules whose faults have not ended. */
  active(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ active, isActive }) =>
      isActive || active > 0 ? active : undefined,
    )
  }

  *evaluations(out: TextWriter, name: string): Iterable<void> {
    for (const { counts, label } of this.#rules) {
      for (const [result, value] of Object.entries(counts)) {
        if (NO_RESULTS.has(result)) continue
        if (value === 0 && result !== ALWAYS_SHOWN) continue
        out.line(label.startWithResult(name, result), value)
      }
      yield
    }
  }

  armed(): Sample[] {
    return this.#sample === undefined ? [] : [{ labels: {}, value: Number(this.#sample.armed) }]
  }

  disarmedReasons(): Sample[] {
    return Object.entries(this.#sample?.disarmed ?? {}).map(([reason, holds]) => ({
      labels: { reason },
      value: Number(holds),
    }))
  }

  lastReloadSuccess(): Sample[] {
    const last = this.#sample?.lastReload
    return last === undefined ? [] : [{ labels: {}, value: Number(last.applied) }]
  }

  lastReloadTime(): Sample[] {
    const last = this.#sample?.lastReload
    return last === undefined ? [] : [{ labels: {}, value: last.at }]
  }

  info(): Sample[] {
    const version = this.#sample?.version
    if (version === undefined) return []
    const { digest, generation, seed } = version
    const labels = { digest: toolLabel(digest), generation: String(generation), seed }
    return [{ labels, value: 1 }]
  }

  unanchored(): Sample[] {
    if (this.#sample === undefined) return []
    return [{ labels: {}, value: this.#sample.unanchored }]
  }

  ignoredHeaders(): Sample[] {
    const ignored = this.#sample?.ignoredHeaders
    return ignored === undefined ? [] : [{ labels: {}, value: ignored }]
  }

  *#each(
    out: TextWriter,
    name: string,
    valueOf: (rule: RuleSample) => number | undefined,
  ): Iterable<void> {
    for (const rule of this.#rules) {
      const value = valueOf(rule)
      if (value !== undefined) yield out.line(rule.label.start(name), value)
    }
  }

  /** Labels the rules; rules with equal labels become one series. */
  #label(rules: readonly RuleSample[]): void {
    const labels = new Map<string, RuleLabel>()
    const byText = new Map<string, LabelledRule>()
    for (const each of rules) {
      const label = this.#labels.get(each.name) ?? new RuleLabel(toolLabel(each.name))
      labels.set(each.name, label)
      const before = byText.get(label.text)
      byText.set(label.text, { ...(before === undefined ? each : sum(before, each)), label })
    }
    this.#labels = labels
    this.#rules = [...byText.values()]
  }
}

function sum(a: RuleSample, b: RuleSample): RuleSample {
  const counts: Record<string, number> = { ...a.counts }
  for (const [key, value] of Object.entries(b.counts)) counts[key] = (counts[key] ?? 0) + value
  return { ...a, counts, active: a.active + b.active, isActive: a.isActive || b.isActive }
}

/** Holds the text before a rule's numbers, made at the first scrape. */
class RuleLabel {
  /** The text between the braces. */
  readonly text: string
  readonly #starts = new Map<string, LineStart>()
  readonly #startsWithResult = new Map<string, LineStart>()

  constructor(rule: string) {
    this.text = labelsText({ rule })
  }

  /** Returns the start of a line of the named metric. */
  start(name: string): LineStart {
    return kept(this.#starts, name, () => seriesText(name, this.text))
  }

  /** Returns the start of a line of the one metric that has the result as a label. */
  startWithResult(name: string, result: string): LineStart {
    return kept(this.#startsWithResult, result, () =>
      seriesText(name, `${labelsText({ result })},${this.text}`),
    )
  }
}

function kept(starts: Map<string, LineStart>, key: string, text: () => string): LineStart {
  const known = starts.get(key)
  if (known !== undefined) return known
  const start = lineStart(text())
  starts.set(key, start)
  return start
}
