import type { Metric, Registry } from 'prom-client'
import type { BucketCounts } from './bucket-counts.ts'
import type { MetricSpec } from './metric-table.ts'

/** One line of a scrape. */
export interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Labels that many samples have in common; the registry formats such an object once. */
  readonly sharedLabels?: Readonly<Record<string, string>>
  /** Differs from the metric's own name for the parts of a histogram. */
  readonly metricName?: string
}

/**
 * A metric whose numbers are kept elsewhere and asked for at scrape time. It has the shape that a
 * registry asks of its members, so nothing of it is paid for while traffic passes.
 */
export class SampledMetric {
  readonly name: string
  readonly help: string
  readonly type: MetricSpec['type']
  readonly aggregator = 'sum'
  readonly #samples: () => Sample[]

  constructor(spec: MetricSpec, samples: () => Sample[]) {
    this.name = spec.name
    this.help = spec.help
    this.type = spec.type
    this.#samples = samples
  }

  getForPromString(): Promise<object> {
    return Promise.resolve(this.#snapshot(this.#samples()))
  }

  get(): Promise<object> {
    return Promise.resolve(this.#snapshot(this.#samples().map(whole)))
  }

  registerIn(registry: Registry): void {
    registry.registerMetric(this as unknown as Metric)
  }

  #snapshot(values: Sample[]): object {
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.aggregator,
      values,
    }
  }
}

function whole(sample: Sample): Sample {
  return { ...sample, labels: { ...sample.labels, ...sample.sharedLabels }, sharedLabels: {} }
}

/** Appends the samples of one histogram series. */
export function pushHistogram(
  samples: Sample[],
  name: string,
  sharedLabels: Readonly<Record<string, string>>,
  counts: BucketCounts,
): void {
  let total = 0
  counts.eachCumulative((bound, count) => {
    total = count
    const le = bound === Infinity ? '+Inf' : bound
    samples.push({ metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: count })
  })
  samples.push({ metricName: `${name}_sum`, labels: {}, sharedLabels, value: counts.sum })
  samples.push({ metricName: `${name}_count`, labels: {}, sharedLabels, value: total })
}
