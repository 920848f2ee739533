import { setTimeout as sleep } from 'node:timers/promises'
import {
  collectDefaultMetrics,
  openMetricsContentType,
  prometheusContentType,
  Registry,
} from 'prom-client'
import {
  boundText,
  END,
  type Exposition,
  familyText,
  labelsText,
  type MetricSpec,
  numberText,
  seriesText,
  type TextFormat,
} from './text-format.ts'

/** The media type of each format. */
export const CONTENT_TYPE: Readonly<Record<TextFormat, string>> = {
  prometheus: prometheusContentType,
  openmetrics: openMetricsContentType,
}

/**
 * Left out. The first list every open file, socket and timer at each scrape: with thousands of them
 * calls wait for milliseconds. The spaces of the heap are 27 series in each sidecar.
 */
const LEFT_OUT = [
  'process_open_fds',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_heap_space_size_total_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_heap_space_size_available_bytes',
]

/** The resolution at which the event loop's delay is sampled, with room for a busy machine. */
const FIRST_SAMPLE_MS = 25

/** One metric of a registry, as prom-client returns it; its own types name numbers for `type`. */
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

/** Node's metrics belong to the process: sidecars that share it share them. */
let ofThisProcess: Promise<Registry> | undefined

/**
 * Returns prom-client's default metrics of Node and of the process, without those that are slow to
 * read or too many.
 */
export function nodeMetrics(): Promise<Registry> {
  return (ofThisProcess ??= collectNodeMetrics())
}

async function collectNodeMetrics(): Promise<Registry> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of LEFT_OUT) registry.removeSingleMetric(name)
  // Until its first sample the delay of the event loop is not a number.
  await sleep(FIRST_SAMPLE_MS)
  return registry
}

/** Limits how old the numbers of Node are: reading them holds calls up for a millisecond. */
const KEPT_MS = 250

const kept = new Map<
  TextFormat,
  { readonly at: number; readonly texts: Promise<readonly string[]> }
>()

/** Writes the metrics of Node and of the process; scrapes that meet get the same numbers. */
export function nodeTexts(format: TextFormat): Promise<readonly string[]> {
  const at = performance.now()
  const last = kept.get(format)
  if (last !== undefined && at - last.at < KEPT_MS) return last.texts
  const texts = nodeMetrics().then((registry) => registryTexts(registry, format))
  kept.set(format, { at, texts })
  return texts
}

/** Returns a function that writes a registry, and the metrics of Node behind it. */
export function exposed(registry: Registry): (format: TextFormat) => Promise<Exposition> {
  return async (format) => {
    const own = await registryTexts(registry, format)
    const text = [...own, ...(await nodeTexts(format)), END[format]].join('')
    return { contentType: CONTENT_TYPE[format], body: [Buffer.from(text)], text }
  }
}

/**
 * Writes each metric of a registry with its HELP and TYPE lines. prom-client's own text follows
 * OpenMetrics only in part, and renames counters for both formats with the first scrape.
 */
export async function registryTexts(
  registry: Registry,
  format: TextFormat,
): Promise<readonly string[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as readonly MetricJson[]
  return metrics.map((metric) => metricText(metric, format))
}

function metricText(metric: MetricJson, format: TextFormat): string {
  let text = familyText(metric, format)
  for (const { value, labels, metricName = metric.name } of metric.values) {
    const shown = 'le' in labels ? { ...labels, le: bucketText(labels['le'], format) } : labels
    text += `${seriesText(metricName, labelsText(shown))}${numberText(measured(value))}\n`
  }
  return text
}

/**
 * Returns 0 for the delay of an event loop that was not sampled: Node gives NaN, or a least of 2^63
 * ns.
 */
function measured(value: number): number {
  return Number.isNaN(value) || value === UNSAMPLED_LEAST ? 0 : value
}

const UNSAMPLED_LEAST = 2 ** 63 / 1e9

function bucketText(le: string | number | undefined, format: TextFormat): string {
  return boundText(le === '+Inf' ? Infinity : Number(le), format)
}
