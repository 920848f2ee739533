import type { RuleSample, RulesSample, RulesSource } from './rules-sample.ts'
import { labelsText, numberText, seriesText, type Sample } from './text-format.ts'
import { toolLabel } from './tool-label.ts'

// Shown from the start, so that the first increase is seen.
const ALWAYS_SHOWN = 'applied'

interface LabelledRule extends RuleSample {
  /** The rule's label as it stands between the braces. */
  readonly text: string
}

/** The metrics of rules: their numbers are kept elsewhere and asked for once per scrape. */
export class RuleMetrics {
  source: RulesSource | undefined
  #sample: RulesSample | undefined
  #rules: readonly LabelledRule[] = []
  /** The label of each rule by its name: written once. */
  #texts: ReadonlyMap<string, string> = new Map()

  /** Asks for the rules as they are now: all metrics of one scrape tell of the same moment. */
  refresh(): void {
    this.#sample = this.source?.()
    this.#label(this.#sample?.rules ?? [])
  }

  matches(name: string): Iterable<string> {
    return this.#each(name, ({ counts }) => counts['matched'])
  }

  draws(name: string): Iterable<string> {
    return this.#each(name, ({ counts }) => counts['drawn'])
  }

  overflows(name: string): Iterable<string> {
    return this.#each(name, ({ counts }) => counts['overflow'])
  }

  /** Rules in force, and those taken back whose faults have not ended. */
  active(name: string): Iterable<string> {
    return this.#each(name, ({ active, inForce }) => (inForce || active > 0 ? active : undefined))
  }

  *evaluations(name: string): Iterable<string> {
    for (const { counts, text } of this.#rules) {
      let lines = ''
      for (const [result, value] of Object.entries(counts)) {
        if (result === 'matched' || result === 'drawn') continue
        if (value === 0 && result !== ALWAYS_SHOWN) continue
        const labels = `${labelsText({ result })},${text}`
        lines += `${seriesText(name, labels)}${numberText(value)}\n`
      }
      yield lines
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
    const inForce = this.#sample?.inForce
    if (inForce === undefined) return []
    const { digest, generation } = inForce
    return [{ labels: { digest: toolLabel(digest), generation: String(generation) }, value: 1 }]
  }

  ignoredHeaders(): Sample[] {
    const ignored = this.#sample?.ignoredHeaders
    return ignored === undefined ? [] : [{ labels: {}, value: ignored }]
  }

  *#each(name: string, valueOf: (rule: RuleSample) => number | undefined): Iterable<string> {
    for (const rule of this.#rules) {
      const value = valueOf(rule)
      if (value !== undefined) yield `${seriesText(name, rule.text)}${numberText(value)}\n`
    }
  }

  /** Gives rules their labels; names that come out alike are one series. */
  #label(rules: readonly RuleSample[]): void {
    const texts = new Map<string, string>()
    const byText = new Map<string, LabelledRule>()
    for (const each of rules) {
      const text = this.#texts.get(each.name) ?? labelsText({ rule: toolLabel(each.name) })
      texts.set(each.name, text)
      const before = byText.get(text)
      byText.set(text, { ...(before === undefined ? each : sum(before, each)), text })
    }
    this.#texts = texts
    this.#rules = [...byText.values()]
  }
}

function sum(a: RuleSample, b: RuleSample): RuleSample {
  const counts: Record<string, number> = { ...a.counts }
  for (const [key, value] of Object.entries(b.counts)) counts[key] = (counts[key] ?? 0) + value
  return { ...a, counts, active: a.active + b.active, inForce: a.inForce || b.inForce }
}
