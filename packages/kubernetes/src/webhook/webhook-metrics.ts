import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { exposed, type MetricSpec } from '#sidecar'
import type { Subject } from './decision.ts'
import { WEBHOOK_METRICS, type WebhookMetric } from './webhook-metric-table.ts'

/** Counts the events of the webhook. */
export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>

/** Registers the webhook's metrics, in the order of their table, and those of Node. */
export function createWebhookMetrics(version: string) {
  const registry = new Registry()
  const declared = (name: WebhookMetric) => {
    const spec: MetricSpec | undefined = WEBHOOK_METRICS.find((metric) => metric.name === name)
    const { help = '', labels = [], buckets = [] } = spec ?? {}
    return { name, help, labelNames: [...labels], buckets: [...buckets], registers: [registry] }
  }
  const injections = new Counter(declared('squall_injections_total'))
  const validations = new Counter(declared('squall_webhook_validations_total'))
  const durations = new Histogram(declared('squall_injection_duration_seconds'))
  const expires = new Gauge(declared('squall_webhook_certificate_expiry_timestamp_seconds'))
  const changes = new Counter(declared('squall_webhook_certificate_changes_total'))
  const good = new Gauge(declared('squall_webhook_certificate_good'))
  const cluster = new Gauge(declared('squall_webhook_kubernetes_minor'))
  const build = new Gauge(declared('squall_webhook_build_info'))
  // Counters are exported before their first count; the expiry only once it is known.
  for (const [subject, result, reason] of EXPECTED) validations.inc({ subject, result, reason }, 0)
  for (const result of ['swapped', 'rejected']) changes.inc({ result }, 0)
  expires.remove()
  cluster.set({ source: 'unknown' }, 0)
  build.set({ version, node: process.versions.node }, 1)
  return {
    reviewed: (subject: Subject, result: string, reason: string, seconds: number): void => {
      if (subject === 'injection') injections.inc({ result, reason })
      else validations.inc({ subject, result, reason })
      durations.observe(seconds)
    },
    swapped: (until: Date): void => {
      expires.set(Math.floor(until.getTime() / 1000))
      changes.inc({ result: 'swapped' })
      good.set(1)
    },
    /** Counts a missing or unusable certificate. */
    certificateRejected: (): void => {
      changes.inc({ result: 'rejected' })
      good.set(0)
    },
    certificateGood: (): void => good.set(1),
    clusterVersion: (minor: number | undefined, source: string): void => {
      cluster.reset()
      cluster.set({ source }, minor ?? 0)
    },
    render: exposed(registry),
  }
}

const EXPECTED = [
  ['rules', 'accepted', 'valid'],
  ['rules', 'denied', 'invalid_rules'],
  ['rules', 'denied', 'production'],
  ['anchor', 'accepted', 'anchored'],
  ['workload', 'accepted', 'valid'],
  ['workload', 'denied', 'unknown_key'],
  ['workload', 'denied', 'invalid_value'],
] as const
