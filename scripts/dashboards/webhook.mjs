import { ANY_IS_GOOD, BAD } from './colours.mjs'
import { orZero } from './expressions.mjs'
import { series, stat } from './panel.mjs'

// The webhook has a job and a namespace of its own, so that only the choice of a cluster is about
// it.
const WEBHOOK = 'cluster=~"$cluster"'
const REPLICA = 'cluster, namespace, pod, instance'
const DAY = 86_400

/** A counter's increase per second, each replica once, however many jobs scrape it. */
function reviews(metric, by) {
  const each = `max by (${REPLICA}, ${by}) (rate(${metric}{${WEBHOOK}}[$__rate_interval]))`
  return `sum by (${by}) (${each})`
}

/** Returns the panels that show the admission webhook; it is scraped by a job of its own. */
export const webhook = [
  stat({
    title: 'Webhook replicas',
    description: 'Webhook replicas that Prometheus scrapes, in the selected clusters.',
    unit: 'short',
    decimals: 0,
    size: [4, 8],
    thresholds: ANY_IS_GOOD,
    queries: [
      {
        expr: orZero(`count(max by (${REPLICA}) (squall_webhook_build_info{${WEBHOOK}}))`),
        legend: 'replicas',
      },
    ],
    instant: true,
  }),
  stat({
    title: 'Webhook certificate expiry',
    description:
      'Time until the first serving certificate in use expires. No value means that the newest certificate is unusable.',
    unit: 's',
    size: [4, 8],
    thresholds: [
      { value: null, color: BAD },
      { value: 7 * DAY, color: 'yellow' },
      { value: 30 * DAY, color: 'green' },
    ],
    queries: [
      {
        expr: `min(squall_webhook_certificate_expiry_timestamp_seconds{${WEBHOOK}}
          and on (cluster, job, instance) squall_webhook_certificate_good == 1) - time()`,
        legend: 'expires in',
      },
    ],
    instant: true,
  }),
  series({
    title: 'Pod admission requests by result',
    description:
      'Rate of pod admission requests by result and reason. Pods that do not request the sidecar are not sent to the webhook.',
    unit: 'reqps',
    size: [8, 8],
    queries: [
      {
        expr: reviews('squall_injections_total', 'result, reason'),
        legend: '{{result}}: {{reason}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Certificates',
    description: 'Rate of serving certificates that replicas loaded, or rejected as unusable.',
    unit: 'ops',
    size: [8, 8],
    queries: [
      {
        expr: reviews('squall_webhook_certificate_changes_total', 'result'),
        legend: 'certificates {{result}}',
        role: 'plain',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Admission latency (p50, p99)',
    description:
      'p50 and p99 latency of admission requests. API servers time out after webhook.timeoutSeconds.',
    unit: 's',
    size: [8, 8],
    queries: [
      { expr: time(0.5), legend: 'p50', role: 'good' },
      { expr: time(0.99), legend: 'p99', role: 'client' },
    ],
  }),
  series({
    title: 'Rules and workload admission requests by result',
    description:
      'Rate of admission requests for ConfigMaps with rules (`anchor` sets the start time, `rules` validates) and for workloads, by result and reason, if enabled.',
    unit: 'reqps',
    size: [12, 8],
    queries: [
      {
        expr: reviews('squall_webhook_validations_total', 'subject, result, reason'),
        legend: '{{subject}} {{result}}: {{reason}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  stat({
    title: 'Kubernetes version',
    description:
      'Kubernetes minor version that the webhook assumes, from the API server or a flag.',
    unit: 'short',
    decimals: 0,
    size: [4, 8],
    queries: [
      {
        expr: `min by (source) (squall_webhook_kubernetes_minor{${WEBHOOK}})`,
        legend: '1.x by {{source}}',
      },
    ],
    instant: true,
  }),
]

function time(rank) {
  return `histogram_quantile(${rank}, ${reviews('squall_injection_duration_seconds_bucket', 'le')})`
}
