import type { MetricSpec } from '../../telemetry/metric-table.ts'
import type { Exposition } from '../../telemetry/metrics.ts'
import { NodeMetrics } from '../../telemetry/node-metrics.ts'
import {
  boundText,
  CONTENT_TYPE,
  END,
  familyText,
  type Sample,
  samplesText,
  type TextFormat,
} from '../../telemetry/text-format.ts'
import type { Subject } from './decision.ts'
import { WEBHOOK_METRICS, type WebhookMetric } from './webhook-metric-table.ts'

/** What the webhook counts. */
export interface WebhookMetrics {
  /** One review was answered, or one request that was none. */
  reviewed(subject: Subject, result: string, reason: string, seconds: number): void
  /** A certificate came into use. */
  swapped(expires: Date): void
  /** A certificate was found that cannot be used, or none could be had. */
  certificateRefused(): void
  /** What cannot be used is gone again, and the one in use is still the newest. */
  certificateGood(): void
  /** Kubernetes 1.`minor` is what is reckoned with. */
  clusterVersion(minor: number | undefined, source: string): void
  render(format: TextFormat): Promise<Exposition>
}

/** Counters, and what Node tells of itself. */
export function createWebhookMetrics(version: string): WebhookMetrics {
  const node = new NodeMetrics()
  const injections = new Map<string, Sample & { value: number }>()
  const validations = new Map<string, Sample & { value: number }>()
  for (const [subject, result, reason] of EXPECTED) add(validations, { subject, result, reason }, 0)
  const durations = new Durations()
  const changes = { swapped: 0, refused: 0 }
  let expires: number | undefined
  let good = 0
  let cluster = { minor: 0, source: 'unknown' }
  const sources: Readonly<Record<WebhookMetric, (name: string, format: TextFormat) => string>> = {
    squall_injections_total: (name) => samplesText(name, [...injections.values()]),
    squall_webhook_validations_total: (name) => samplesText(name, [...validations.values()]),
    squall_injection_duration_seconds: (name, format) => durations.text(name, format),
    squall_webhook_certificate_expiry_timestamp_seconds: (name) =>
      expires === undefined ? '' : samplesText(name, [{ labels: {}, value: expires }]),
    squall_webhook_certificate_changes_total: (name) =>
      samplesText(
        name,
        Object.entries(changes).map(([result, value]) => ({ labels: { result }, value })),
      ),
    squall_webhook_certificate_good: (name) => samplesText(name, [{ labels: {}, value: good }]),
    squall_webhook_kubernetes_minor: (name) =>
      samplesText(name, [{ labels: { source: cluster.source }, value: cluster.minor }]),
    squall_webhook_build_info: (name) =>
      samplesText(name, [{ labels: { version, node: process.versions.node }, value: 1 }]),
  }
  return {
    reviewed: (subject, result, reason, seconds) => {
      if (subject === 'injection') add(injections, { result, reason }, 1)
      else add(validations, { subject, result, reason }, 1)
      durations.observe(seconds)
    },
    swapped: (until) => {
      expires = Math.floor(until.getTime() / 1000)
      changes.swapped++
      good = 1
    },
    certificateRefused: () => {
      changes.refused++
      good = 0
    },
    certificateGood: () => {
      good = 1
    },
    clusterVersion: (minor, source) => {
      cluster = { minor: minor ?? 0, source }
    },
    render: async (format) => {
      const own = WEBHOOK_METRICS.map(
        (spec) => familyText(spec, format) + sources[spec.name](spec.name, format),
      )
      const text = [...own, ...(await node.read(format)), END[format]].join('')
      return { contentType: CONTENT_TYPE[format], body: [Buffer.from(text)], text }
    },
  }
}

/** Those that are exported before the first one is counted. */
const EXPECTED = [
  ['rules', 'accepted', 'valid'],
  ['rules', 'denied', 'invalid_rules'],
  ['rules', 'denied', 'production'],
  ['anchor', 'accepted', 'anchored'],
  ['workload', 'accepted', 'valid'],
  ['workload', 'denied', 'unknown_key'],
  ['workload', 'denied', 'bad_value'],
] as const

function add(
  counts: Map<string, Sample & { value: number }>,
  labels: Readonly<Record<string, string>>,
  by: number,
): void {
  const key = Object.values(labels).join(' ')
  const sample = counts.get(key) ?? { labels, value: 0 }
  sample.value += by
  counts.set(key, sample)
}

/** The one histogram. */
class Durations {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #count = 0
  #sum = 0

  constructor() {
    const spec: MetricSpec | undefined = WEBHOOK_METRICS.find(({ type }) => type === 'histogram')
    this.#bounds = spec?.buckets ?? []
    this.#counts = this.#bounds.map(() => 0)
  }

  observe(seconds: number): void {
    this.#count++
    this.#sum += seconds
    const at = this.#bounds.findIndex((bound) => seconds <= bound)
    if (at >= 0) this.#counts[at]!++
  }

  text(name: string, format: TextFormat): string {
    let below = 0
    const buckets = this.#bounds.map((bound, i) => {
      below += this.#counts[i]!
      return { labels: { le: boundText(bound, format) }, value: below }
    })
    const all = [...buckets, { labels: { le: '+Inf' }, value: this.#count }]
    const total = [{ labels: {}, value: this.#sum }]
    const count = [{ labels: {}, value: this.#count }]
    return (
      samplesText(`${name}_bucket`, all) +
      samplesText(`${name}_sum`, total) +
      samplesText(`${name}_count`, count)
    )
  }
}
