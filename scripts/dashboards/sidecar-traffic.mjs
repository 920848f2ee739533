import { lessIsBetter } from './colours.mjs'
import { rate } from './expressions.mjs'
import { series, table } from './panel.mjs'
import { POD } from './variables.mjs'

const SIDECAR = '{{namespace}}/{{pod}} {{instance}}'

/** The panels of the requests and connections that sidecars hold open. */
export const traffic = [
  series({
    title: 'Connections',
    description: 'Open connections: of clients, to the upstream, and tunnels after an upgrade.',
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
      'Event streams that response a request, streams that the server writes to at will, and sessions that are remembered.',
    unit: 'short',
    queries: [
      {
        expr: `sum(squall_open_streams{${POD}, kind="request"})`,
        legend: 'streams of requests',
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
      'Calls that have not ended yet, by sidecar. What only grows is an upstream that does not respond.',
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
    title: 'Exchanges that carried no call',
    description: 'Per second, by class and status: streams, notifications, plain HTTP, upgrades.',
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
    title: 'Rejected by Squall',
    description:
      'Requests per second that Squall responded to itself or rejected, by reason. These are real errors. those that the admin port rejected (admin) are none: reads by a foreign name or without the token, and changes.',
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
    title: 'Passed on unread',
    description:
      'Requests per second that looked like MCP and were passed on unread, by reason. No rule about calls sees them. server: lines of a server on stdio that violate the protocol, which squall stdio --strict counts.',
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
    title: 'Forgotten for want of room',
    description:
      'Entries per second dropped from a full table, calls per second whose tool is counted as "other", lines that the call log dropped, and what was given up because messages in flight held too much memory. A bound is too small for this traffic.',
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
        expr: rate('squall_memory_pressure_total', POD, 'reason'),
        legend: 'memory: {{reason}}',
        role: 'app',
        shades: true,
      },
    ],
  }),
  table({
    title: 'Versions',
    description: 'What each sidecar is, and since when it runs.',
    unit: 's',
    size: [12, 8],
    by: ['cluster', 'namespace', 'workload', 'pod', 'instance', 'version', 'node'],
    queries: [
      {
        column: 'Running for',
        expr: `time() - max by (cluster, namespace, workload, pod, instance, version, node) (
          process_start_time_seconds{${POD}} * on (cluster, job, instance) group_right () squall_build_info{${POD}}
        )`,
        decimals: 0,
      },
    ],
  }),
]
