import type { Registry } from 'prom-client'
import type { MetricSpec } from './metric-table.ts'
import { boundText, headOf, labelsText, numberText, seriesText } from './text-format.ts'
import type { TextFormat } from './text-format.ts'

/** One metric as the registry tells it. */
interface Told {
  readonly name: string
  readonly help: string
  readonly type: MetricSpec['type']
  readonly values: readonly ToldValue[]
}

interface ToldValue {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Differs from the metric's own name for the parts of a histogram. */
  readonly metricName?: string
}

/** The metrics of Node and of the process, as everybody who runs Node knows them. */
export class NodeMetrics {
  #registry: Promise<Registry> | undefined

  /** Loads what the first reading needs. */
  async load(): Promise<void> {
    await (this.#registry ??= register())
  }

  /** Each metric with its head, read now. */
  async read(format: TextFormat): Promise<readonly string[]> {
    const registry = await (this.#registry ??= register())
    const told = (await registry.getMetricsAsJSON()) as unknown as readonly Told[]
    return told.map((metric) => metricText(metric, format))
  }
}

/** Loaded apart: where nobody can scrape, its memory is not spent. */
async function register(): Promise<Registry> {
  const { createNodeRegistry } = await import('./node-registry.ts')
  return createNodeRegistry()
}

function metricText(metric: Told, format: TextFormat): string {
  let text = headOf(metric, format)
  for (const { value, labels, metricName = metric.name } of metric.values) {
    const shown = 'le' in labels ? { ...labels, le: bucketText(labels['le'], format) } : labels
    text += `${seriesText(metricName, labelsText(shown))}${numberText(value)}\n`
  }
  return text
}

function bucketText(le: string | number | undefined, format: TextFormat): string {
  return boundText(le === '+Inf' ? Infinity : Number(le), format)
}
