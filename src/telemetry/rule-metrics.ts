import type { RuleSample, RulesSample, RulesSource } from './rules-sample.ts'
import { RuleLabel } from './rule-label.ts'
import type { Sample } from './text-format.ts'
import type { TextWriter } from './text-writer.ts'
import { toolLabel } from './tool-label.ts'

// Shown from the start, so that the first increase is seen.
const ALWAYS_SHOWN = 'injected'
// Counted besides what became of a call.
const NO_RESULTS: ReadonlySet<string> = new Set(['matched', 'sampled', 'value_too_long'])

interface LabelledRule extends RuleSample {
  readonly label: RuleLabel
}

/** The metrics of rules: their numbers are kept elsewhere and asked for once per scrape. */
export class RuleMetrics {
  source: RulesSource | undefined
  #sample: RulesSample | undefined
  #rules: readonly LabelledRule[] = []
  /** The label of each rule by its name: written once. */
  #labels: ReadonlyMap<string, RuleLabel> = new Map()

  /** Asks for the rules as they are now: all metrics of one scrape tell of the same moment. */
  refresh(): void {
    this.#sample = this.source?.()
    this.#label(this.#sample?.rules ?? [])
  }

  matches(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['matched'])
  }

  draws(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['sampled'])
  }

  overflows(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['concurrency_limit'])
  }

  valuesTooLong(out: TextWriter, name: string): Iterable<void> {
    return this.#each(out, name, ({ counts }) => counts['value_too_long'])
  }

  /** Active rules, and those taken back whose faults have not ended. */
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
    return last === undefined ? [] : [{ labels: {}, value: Number(last.taken) }]
  }

  lastReloadTime(): Sample[] {
    const last = this.#sample?.lastReload
    return last === undefined ? [] : [{ labels: {}, value: last.at }]
  }

  info(): Sample[] {
    const isActive = this.#sample?.isActive
    if (isActive === undefined) return []
    const { digest, generation } = isActive
    return [{ labels: { digest: toolLabel(digest), generation: String(generation) }, value: 1 }]
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

  /** Gives rules their labels; names that come out alike are one series. */
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
