import type { MetricSpec } from '#sidecar'

export const WEBHOOK_METRICS = [
  {
    name: 'squall_injections_total',
    type: 'counter',
    help: 'Pod admission requests, by result and reason.',
    labels: ['result', 'reason'],
  },
  {
    name: 'squall_webhook_validations_total',
    type: 'counter',
    help: 'Admission requests for rules, for the start time of rules (anchor) and for workloads, by result and reason.',
    labels: ['subject', 'result', 'reason'],
  },
  {
    name: 'squall_injection_duration_seconds',
    type: 'histogram',
    help: 'Time from the headers of an admission request to its response.',
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  {
    name: 'squall_webhook_certificate_expiry_timestamp_seconds',
    type: 'gauge',
    help: 'Expiry time of the serving certificate in use.',
    labels: [],
  },
  {
    name: 'squall_webhook_certificate_changes_total',
    type: 'counter',
    help: 'New serving certificates, by result: swapped, or rejected as unusable.',
    labels: ['result'],
  },
  {
    name: 'squall_webhook_certificate_good',
    type: 'gauge',
    help: '1 if the newest certificate is in use; 0 if it is unusable or cannot be issued and the previous certificate stays in use.',
    labels: [],
  },
  {
    name: 'squall_webhook_kubernetes_minor',
    type: 'gauge',
    help: 'Kubernetes minor version that injection assumes; the source is api_server, flag or unknown.',
    labels: ['source'],
  },
  {
    name: 'squall_webhook_build_info',
    type: 'gauge',
    help: 'Always 1; the labels show the running version.',
    labels: ['version', 'node'],
  },
] as const satisfies readonly MetricSpec[]

export type WebhookMetric = (typeof WEBHOOK_METRICS)[number]['name']
