import type { Registry } from 'prom-client'
import type { MetricSpec } from './metric-table.ts'
import { boundText, familyText, labelsText, numberText, seriesText } from './text-format.ts'
import type { TextFormat } from './text-format.ts'

/** One metric of prom-client's registry. */
interface MetricJson {
  readonly name: string
  readonly help: string
  readonly type: MetricSpec['type']
  readonly values: readonly MetricValue[]
}

interface MetricValue {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Differs from the metric's own name for the parts of a histogram. */
  readonly metricName?: string
}

/** Reads prom-client's default metrics of Node and of the process. */
export class NodeMetrics {
  #registry: Promise<Registry> | undefined

  /** Loads the modules of the first reading. */
  async load(): Promise<void> {
    await (this.#registry ??= register())
  }

  /** Reads each metric with its HELP and TYPE lines. */
  async read(format: TextFormat): Promise<readonly string[]> {
    const registry = await (this.#registry ??= register())
    const metrics = (await registry.getMetricsAsJSON()) as unknown as readonly MetricJson[]
    return metrics.map((metric) => metricText(metric, format))
  }
}

/** Loads prom-client on demand, which saves its memory where nothing is scraped. */
async function register(): Promise<Registry> {
  const { createNodeRegistry } = await import('./node-registry.ts')
  return createNodeRegistry()
}

function metricText(metric: MetricJson, format: TextFormat): string {
  let text = familyText(metric, format)
  for (const { value, labels, metricName = metric.name } of metric.values) {
    const shown = 'le' in labels ? { ...labels, le: bucketText(labels['le'], format) } : labels
    text += `${seriesText(metricName, labelsText(shown))}${numberText(value)}\n`
  }
  return text
}

function bucketText(le: string | number | undefined, format: TextFormat): string {
  return boundText(le === '+Inf' ? Infinity : Number(le), format)
}
