import { lessIsBetter } from './colours.mjs'
import { rate } from './expressions.mjs'
import { series, table } from './panel.mjs'
import { POD } from './variables.mjs'

const SIDECAR = '{{namespace}}/{{pod}} {{instance}}'

/** The panels of the requests and connections that sidecars hold open. */
export const traffic = [
  series({
    title: 'Connections',
    description: 'Open connections by kind: client, upstream, or tunnel after an upgrade.',
    unit: 'short',
    queries: [
      { expr: `sum(squall_connections{${POD}, kind="client"})`, legend: 'client', role: 'client' },
      { expr: `sum(squall_connections{${POD}, kind="upstream"})`, legend: 'upstream', role: 'app' },
      { expr: `sum(squall_connections{${POD}, kind="tunnel"})`, legend: 'tunnel', role: 'plain' },
    ],
  }),
  series({
    title: 'Open streams and sessions',
    description:
      'Open event streams for responses, open streams of server-initiated messages, and tracked sessions.',
    unit: 'short',
    queries: [
      {
        expr: `sum(squall_open_streams{${POD}, kind="request"})`,
        legend: 'request streams',
        role: 'app',
      },
      {
        expr: `sum(squall_open_streams{${POD}, kind="push"})`,
        legend: 'push streams',
        role: 'client',
      },
      { expr: `sum(squall_sessions{${POD}})`, legend: 'sessions', role: 'plain' },
    ],
  }),
  series({
    title: 'Calls in progress',
    description:
      'In-flight calls by sidecar. A steady increase means that the upstream does not respond.',
    unit: 'short',
    queries: [
      {
        expr: `max by (cluster, namespace, pod, instance) (squall_in_flight_requests{${POD}})`,
        legend: SIDECAR,
        role: 'app',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Exchanges without a call',
    description:
      'Rate of streams, notifications, plain HTTP requests and upgrades, by class and HTTP status.',
    unit: 'reqps',
    queries: [
      {
        expr: rate(
          'squall_http_requests_total',
          `${POD}, origin!~"injected|injected_elsewhere"`,
          'class, code',
        ),
        legend: '{{class}} {{code}}',
        role: 'app',
        shades: true,
      },
      {
        expr: rate(
          'squall_http_requests_total',
          `${POD}, origin=~"injected|injected_elsewhere"`,
          'class, code',
        ),
        legend: 'injected: {{class}} {{code}}',
        role: 'injected',
        shades: true,
      },
    ],
  }),
]

/** Lists what they reject or forget. */
export const bounds = [
  series({
    title: 'Requests rejected by Squall',
    description:
      'Rate of requests that Squall rejected or responded to itself, by reason. They count as real errors, except for requests that the admin port rejected (admin).',
    unit: 'reqps',
    thresholds: lessIsBetter(0.1, 1),
    queries: [
      {
        expr: rate('squall_rejected_total', POD, 'reason'),
        legend: 'real: {{reason}}',
        role: 'real',
        shades: true,
      },
      {
        expr: rate('squall_admin_rejected_total', POD, 'reason'),
        legend: 'admin: {{reason}}',
        role: 'client',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Requests forwarded unparsed',
    description:
      'Rate of requests that looked like MCP but were forwarded unparsed, by reason. Rules for calls do not match them. server: lines of a stdio server that violate the protocol, counted by squall stdio --fail-on-violation.',
    unit: 'reqps',
    thresholds: lessIsBetter(0.1, 1),
    queries: [
      {
        expr: rate('squall_unclassified_total', POD, 'reason'),
        legend: '{{reason}}',
        role: 'client',
        shades: true,
      },
      {
        expr: rate('squall_stdio_violations_total', POD, 'reason'),
        legend: 'server: {{reason}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Dropped and evicted entries',
    description:
      'Rate of evicted table entries, calls counted under the tool "other", dropped call log lines, tape messages and spans, and actions that kept memory below its limit. Above zero, a limit is too low for this traffic, or the span collector is too slow.',
    unit: 'ops',
    thresholds: lessIsBetter(0.1, 1),
    queries: [
      {
        expr: rate('squall_table_evictions_total', POD, 'table'),
        legend: '{{table}}',
        role: 'client',
        shades: true,
      },
      { expr: rate('squall_tool_names_dropped_total', POD), legend: 'tool names', role: 'plain' },
      {
        expr: rate('squall_call_log_lines_total', `${POD}, result="dropped"`),
        legend: 'call log',
        role: 'plain',
      },
      {
        expr: rate('squall_tape_messages_total', `${POD}, result="dropped"`),
        legend: 'tape',
        role: 'plain',
      },
      { expr: rate('squall_spans_dropped_total', POD), legend: 'spans', role: 'plain' },
      {
        expr: rate('squall_memory_pressure_total', POD, 'reason'),
        legend: 'memory: {{reason}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  table({
    title: 'Squall versions',
    description: 'Version and start time of each sidecar.',
    unit: 's',
    size: [12, 8],
    by: ['cluster', 'namespace', 'workload', 'pod', 'instance', 'version', 'node'],
    queries: [
      {
        column: 'Uptime',
        expr: `time() - max by (cluster, namespace, workload, pod, instance, version, node) (
          process_start_time_seconds{${POD}} * on (cluster, job, instance) group_right () squall_build_info{${POD}}
        )`,
        decimals: 0,
      },
    ],
  }),
]
