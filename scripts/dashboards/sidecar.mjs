import { ANY_IS_GOOD, lessIsBetter } from './colours.mjs'
import { dashboard } from './dashboard.mjs'
import { mean, orZero, quantile, rate } from './expressions.mjs'
import { heatmap, series, stat } from './panel.mjs'
import { bounds, traffic } from './sidecar-traffic.mjs'
import { POD } from './variables.mjs'
import { webhook } from './webhook.mjs'

const OVERHEAD = 'squall_overhead_seconds'
const WHO = 'cluster, namespace, pod, instance'
const SIDECAR = '{{namespace}}/{{pod}} {{instance}}'

/** A gauge of each sidecar. */
function each(metric) {
  return `max by (${WHO}) (${metric}{${POD}})`
}

const now = [
  stat({
    title: 'Sidecars',
    description: 'Sidecars that are scraped.',
    unit: 'short',
    decimals: 0,
    thresholds: ANY_IS_GOOD,
    queries: [{ expr: orZero(`count(squall_build_info{${POD}})`), legend: 'sidecars' }],
    instant: true,
  }),
  stat({
    title: 'Overhead (p99)',
    description: "Squall's own time on one exchange, 99th percentile over the time shown.",
    unit: 's',
    thresholds: lessIsBetter(0.001, 0.005),
    queries: [
      {
        expr: `histogram_quantile(0.99, ${rate(`${OVERHEAD}_bucket`, POD, 'le', '$__range')})`,
        legend: 'p99',
      },
    ],
    instant: true,
  }),
  stat({
    title: 'Memory (highest)',
    description: 'Resident memory of the sidecar that has most.',
    unit: 'bytes',
    thresholds: lessIsBetter(256 * 1024 * 1024, 512 * 1024 * 1024),
    queries: [
      {
        expr: `max(process_resident_memory_bytes{${POD}} and on (cluster, job, instance) squall_build_info)`,
        legend: 'resident',
      },
    ],
  }),
  stat({
    title: 'Event loop lag (p99, highest)',
    description:
      'How late timers are in the sidecar that is worst off. It is slow itself, or has too little CPU.',
    unit: 's',
    thresholds: lessIsBetter(0.05, 0.25),
    queries: [
      {
        expr: `max(nodejs_eventloop_lag_p99_seconds{${POD}} and on (cluster, job, instance) squall_build_info)`,
        legend: 'p99',
      },
    ],
  }),
  stat({
    title: 'Calls in progress',
    description: 'Calls that have not ended yet.',
    unit: 'short',
    decimals: 0,
    thresholds: lessIsBetter(1000, 5000),
    queries: [{ expr: `sum(squall_in_flight_requests{${POD}})`, legend: 'calls' }],
  }),
  stat({
    title: 'Restarts',
    description: 'How often sidecars began anew within the time shown.',
    unit: 'short',
    decimals: 0,
    thresholds: lessIsBetter(1, 3),
    queries: [
      {
        expr: orZero(
          `sum(changes(process_start_time_seconds{${POD}}[$__range]) and on (cluster, job, instance) squall_build_info)`,
        ),
        legend: 'restarts',
      },
    ],
    instant: true,
  }),
]

const overhead = [
  series({
    title: 'Overhead',
    description:
      "Squall's own time on one exchange; waiting for the upstream or the client is not in it.",
    unit: 's',
    line: true,
    thresholds: lessIsBetter(0.001, 0.005),
    queries: [
      { expr: quantile(0.5, OVERHEAD, POD), legend: 'p50', role: 'good' },
      { expr: quantile(0.95, OVERHEAD, POD), legend: 'p95', role: 'app' },
      { expr: quantile(0.99, OVERHEAD, POD), legend: 'p99', role: 'client' },
      { expr: mean(OVERHEAD, POD), legend: 'mean', role: 'plain' },
    ],
  }),
  heatmap({
    title: 'Overhead, how it is spread',
    description: "Exchanges per second by how much of Squall's own time they took.",
    unit: 's',
    queries: [{ expr: rate(`${OVERHEAD}_bucket`, POD, 'le'), legend: '{{le}}' }],
  }),
]

const processes = [
  series({
    title: 'Memory',
    description:
      'Resident memory, how much of it is the JavaScript heap, what messages in flight hold, and how much they may hold (--max-memory), by sidecar.',
    unit: 'bytes',
    queries: [
      {
        expr: `${each('process_resident_memory_bytes')} and on (cluster, instance) squall_build_info`,
        legend: `resident ${SIDECAR}`,
        role: 'app',
        shades: true,
      },
      {
        expr: `${each('nodejs_heap_size_used_bytes')} and on (cluster, instance) squall_build_info`,
        legend: `heap ${SIDECAR}`,
        role: 'good',
        shades: true,
      },
      {
        expr: `${each('nodejs_external_memory_bytes')} and on (cluster, instance) squall_build_info`,
        legend: `buffers ${SIDECAR}`,
        role: 'plain',
        shades: true,
      },
      {
        expr: each('squall_memory_held_bytes'),
        legend: `in flight ${SIDECAR}`,
        role: 'client',
        shades: true,
      },
      {
        expr: each('squall_memory_kept_bytes'),
        legend: `kept ${SIDECAR}`,
        role: 'client',
        shades: true,
      },
      {
        expr: each('squall_memory_limit_bytes'),
        legend: `limit in flight ${SIDECAR}`,
        role: 'client',
        shades: true,
      },
    ],
  }),
  series({
    title: 'CPU',
    description:
      'Processor seconds per second, by sidecar: 1 is a whole core, and the most that one can use.',
    unit: 'short',
    line: true,
    thresholds: lessIsBetter(0.7, 0.9),
    queries: [
      {
        expr: `${rate('process_cpu_seconds_total', POD, WHO)} and on (cluster, instance) squall_build_info`,
        legend: SIDECAR,
        role: 'app',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Event loop lag',
    description:
      'How late timers are, by sidecar: the 99th percentile and the worst since the last scrape.',
    unit: 's',
    line: true,
    thresholds: lessIsBetter(0.05, 0.25),
    queries: [
      {
        expr: `${each('nodejs_eventloop_lag_p99_seconds')} and on (cluster, instance) squall_build_info`,
        legend: `p99 ${SIDECAR}`,
        role: 'app',
        shades: true,
      },
      {
        expr: `${each('nodejs_eventloop_lag_max_seconds')} and on (cluster, instance) squall_build_info`,
        legend: `max ${SIDECAR}`,
        role: 'client',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Garbage collection',
    description: 'Seconds per second spent on collecting garbage, by kind of collection.',
    unit: 'percentunit',
    thresholds: lessIsBetter(0.05, 0.2),
    queries: [
      {
        expr: `sum by (kind) (rate(nodejs_gc_duration_seconds_sum{${POD}}[$__rate_interval]) and on (cluster, job, instance) squall_build_info)`,
        legend: '{{kind}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
]

/** Is the sidecar itself well? */
export function sidecarDashboard() {
  return dashboard({
    uid: 'squall-sidecar',
    title: 'Squall / Sidecar',
    description: 'What the sidecars themselves cost, hold open and reject; and the webhook.',
    variables: ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod'],
    rows: [
      { title: 'Now', panels: now },
      { title: 'Overhead', panels: overhead },
      { title: 'Processes', panels: processes },
      { title: 'Traffic', panels: traffic },
      { title: 'Bounds', panels: bounds },
      { title: 'Webhook', panels: webhook },
    ],
  })
}
