import type { RuleSample, RulesSample, RulesSource } from './rules-sample.ts'
import type { Sample } from './sampled-metric.ts'
import { toolLabel } from './tool-label.ts'

// Shown from the start, so that the first increase is seen.
const ALWAYS_SHOWN = 'applied'

interface LabelledRule extends RuleSample {
  readonly labels: { readonly rule: string }
}

/** The metrics of rules: their numbers are kept elsewhere and asked for once per scrape. */
export class RuleMetrics {
  source: RulesSource | undefined
  #sample: RulesSample | undefined
  #rules: readonly LabelledRule[] = []

  /** Asks for the rules as they are now: all metrics of one scrape tell of the same moment. */
  refresh(): void {
    this.#sample = this.source?.()
    this.#rules = labelled(this.#sample?.rules ?? [])
  }

  matches(): Sample[] {
    return this.#each(({ counts }) => counts['matched'])
  }

  draws(): Sample[] {
    return this.#each(({ counts }) => counts['drawn'])
  }

  overflows(): Sample[] {
    return this.#each(({ counts }) => counts['overflow'])
  }

  /** Rules in force, and those taken back whose faults have not ended. */
  active(): Sample[] {
    return this.#each(({ active, inForce }) => (inForce || active > 0 ? active : undefined))
  }

  evaluations(): Sample[] {
    const samples: Sample[] = []
    for (const { counts, labels: sharedLabels } of this.#rules) {
      for (const [result, value] of Object.entries(counts)) {
        if (result === 'matched' || result === 'drawn') continue
        if (value === 0 && result !== ALWAYS_SHOWN) continue
        samples.push({ labels: { result }, sharedLabels, value })
      }
    }
    return samples
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

  #each(valueOf: (rule: RuleSample) => number | undefined): Sample[] {
    const samples: Sample[] = []
    for (const rule of this.#rules) {
      const value = valueOf(rule)
      if (value !== undefined) samples.push({ labels: {}, sharedLabels: rule.labels, value })
    }
    return samples
  }
}

/** Rules with their labels; names that come out alike are one series. */
function labelled(rules: readonly RuleSample[]): readonly LabelledRule[] {
  const byLabel = new Map<string, LabelledRule>()
  for (const each of rules) {
    const rule = toolLabel(each.name)
    const before = byLabel.get(rule)
    byLabel.set(rule, { ...(before === undefined ? each : sum(before, each)), labels: { rule } })
  }
  return [...byLabel.values()]
}

function sum(a: RuleSample, b: RuleSample): RuleSample {
  const counts: Record<string, number> = { ...a.counts }
  for (const [key, value] of Object.entries(b.counts)) counts[key] = (counts[key] ?? 0) + value
  return { ...a, counts, active: a.active + b.active, inForce: a.inForce || b.inForce }
}
