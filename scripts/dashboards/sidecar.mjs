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
    description: 'Sidecars that Prometheus scrapes.',
    unit: 'short',
    decimals: 0,
    thresholds: ANY_IS_GOOD,
    queries: [{ expr: orZero(`count(squall_build_info{${POD}})`), legend: 'sidecars' }],
    instant: true,
  }),
  stat({
    title: 'Overhead (p99)',
    description:
      'p99 of the processing time that Squall adds to an exchange, in the selected time range.',
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
    description: 'Highest resident memory of any sidecar.',
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
      'Event loop lag of the slowest sidecar. A high value means a slow or CPU-limited sidecar.',
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
    description: 'Number of calls in flight now.',
    unit: 'short',
    decimals: 0,
    thresholds: lessIsBetter(1000, 5000),
    queries: [{ expr: `sum(squall_in_flight_requests{${POD}})`, legend: 'calls' }],
  }),
  stat({
    title: 'Restarts',
    description: 'Sidecar restarts in the selected time range.',
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
      'Processing time that Squall adds to an exchange, excluding waits for the upstream or the client.',
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
    title: 'Overhead distribution',
    description:
      'Distribution of the processing time that Squall adds to an exchange, as a rate of exchanges.',
    unit: 's',
    queries: [{ expr: rate(`${OVERHEAD}_bucket`, POD, 'le'), legend: '{{le}}' }],
  }),
]

const processes = [
  series({
    title: 'Clock',
    description:
      'Clock skew between each sidecar and Prometheus. Above 10 s, rules start and end at the wrong time.',
    unit: 's',
    signed: true,
    queries: [
      {
        expr: `max by (${WHO}) (squall_clock_seconds{${POD}} - timestamp(squall_clock_seconds{${POD}}))`,
        legend: SIDECAR,
        role: 'plain',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Memory',
    description:
      'Resident memory, JavaScript heap, memory of messages in flight and its limit (--max-memory), by sidecar.',
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
    description: 'CPU seconds per second, by sidecar. A sidecar uses at most one core.',
    unit: 'short',
    decimals: 2,
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
    description: 'Event loop lag by sidecar: 99th percentile and maximum since the last scrape.',
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
    description:
      'Seconds per second spent in garbage collection, by kind. High values suggest a memory limit that is too low.',
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
    description: 'Overhead, connections and rejections of the sidecars, and the webhook.',
    variables: ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod'],
    rows: [
      { title: 'Now', panels: now },
      { title: 'Overhead', panels: overhead },
      { title: 'Processes', panels: processes },
      { title: 'Traffic', panels: traffic },
      { title: 'Limits', panels: bounds },
      { title: 'Webhook', panels: webhook },
    ],
  })
}
