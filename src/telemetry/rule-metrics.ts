import { Count, type Series } from './series.ts'
import type { MetricName } from './metric-table.ts'
import type { RuleSample, RulesSample, RulesSource, RulesVersionSample } from './rules-sample.ts'
import { toolLabel } from './text-format.ts'

// Exposed from the start, so that rates include the first increase.
const ALWAYS_SHOWN = 'injected'
// Counts that are not results of a call.
const NO_RESULTS: ReadonlySet<string> = new Set(['matched', 'sampled', 'value_too_long'])

interface ShownRule extends RuleSample {
  readonly series: RuleSeries
}

/** Shows the rules from one sample per scrape. */
export class RuleMetrics {
  source: RulesSource | undefined
  #rules: readonly ShownRule[] = []
  #series: ReadonlyMap<string, RuleSeries> = new Map()

  /** Maps each metric of rules to its series, all of the same moment. */
  sources() {
    const sample = this.source?.()
    this.#show(sample?.rules ?? [])
    const squall_clock_seconds = (sample?.clock ?? Date.now()) / 1000
    return { ...this.#ofRules(), ...ofVersion(sample), squall_clock_seconds }
  }

  #ofRules() {
    return {
      squall_rule_matches_total: this.#each('squall_rule_matches_total', 'matched'),
      squall_rule_sampled_total: this.#each('squall_rule_sampled_total', 'sampled'),
      squall_rule_evaluations_total: this.#evaluations(),
      squall_rule_values_too_long_total: this.#each(
        'squall_rule_values_too_long_total',
        'value_too_long',
      ),
      squall_active_faults: this.#active(),
    } as const
  }

  *#each(name: MetricName, counted: string): Iterable<Series> {
    for (const { series, counts } of this.#rules) {
      const value = counts[counted]
      if (value !== undefined) yield series.of(name, value)
    }
  }

  /** Shows active rules, and withdrawn rules whose faults have not ended. */
  *#active(): Iterable<Series> {
    for (const { series, active, isActive } of this.#rules) {
      if (isActive || active > 0) yield series.of('squall_active_faults', active)
    }
  }

  *#evaluations(): Iterable<Series> {
    for (const { series, counts } of this.#rules) {
      for (const [result, value] of Object.entries(counts)) {
        if (NO_RESULTS.has(result) || (value === 0 && result !== ALWAYS_SHOWN)) continue
        yield series.of('squall_rule_evaluations_total', value, result)
      }
    }
  }

  /** Labels the rules; rules with equal labels become one series. */
  #show(rules: readonly RuleSample[]): void {
    const all = new Map<string, RuleSeries>()
    const shown = new Map<string, ShownRule>()
    for (const each of rules) {
      const series = this.#series.get(each.name) ?? new RuleSeries(toolLabel(each.name))
      all.set(each.name, series)
      const before = shown.get(series.rule)
      shown.set(series.rule, { ...(before === undefined ? each : sum(before, each)), series })
    }
    this.#series = all
    this.#rules = [...shown.values()]
  }
}

function ofVersion(sample: RulesSample | undefined) {
  const { version, lastReload } = sample ?? {}
  const name = 'squall_rules_info'
  return {
    squall_armed: sample && Number(sample.armed),
    squall_disarmed_reason: sample?.disarmed ?? {},
    squall_rules_last_reload_success: lastReload && Number(lastReload.applied),
    squall_rules_last_reload_timestamp_seconds: lastReload?.at,
    [name]: version && [new Count(name, infoLabels(version), 1)],
    squall_rules_unanchored: sample?.unanchored,
    squall_header_faults_ignored_total: sample?.ignoredHeaders,
  } as const
}

function infoLabels({ digest, generation, seed }: RulesVersionSample) {
  return { digest: toolLabel(digest), generation: String(generation), seed }
}

function sum(a: RuleSample, b: RuleSample): RuleSample {
  const counts: Record<string, number> = { ...a.counts }
  for (const [key, value] of Object.entries(b.counts)) counts[key] = (counts[key] ?? 0) + value
  return { ...a, counts, active: a.active + b.active, isActive: a.isActive || b.isActive }
}

/** Keeps the series of a rule from one scrape to the next. */
class RuleSeries {
  /** The label of the rule. */
  readonly rule: string
  readonly #known = new Map<string, Count>()

  constructor(rule: string) {
    this.rule = rule
  }

  /** Returns the series of a metric with its number. */
  of(name: MetricName, value: number, result?: string): Count {
    const key = result ?? name
    let count = this.#known.get(key)
    if (count === undefined) {
      const labels = { ...(result !== undefined && { result }), rule: this.rule }
      count = new Count(name, labels)
      this.#known.set(key, count)
    }
    count.value = value
    return count
  }
}
