import type { MetricSpec } from './text-format.ts'

/** The choices of `--metrics-detail`. */
export const METRICS_DETAILS = ['basic', 'full'] as const

/** The detail of a scrape: `basic` has fewer buckets, and histograms for all tools together. */
export type MetricsDetail = (typeof METRICS_DETAILS)[number]

// From a cache hit to the longest time that clients wait. Deadlines and alerts use bounds of both.
const CALL_SECONDS = {
  full: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  basic: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
}

// From a neighbour in the cluster to the timeout of a connect.
const CONNECT_SECONDS = {
  full: CALL_SECONDS.full.filter((seconds) => seconds <= 5),
  basic: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5],
}

// The overhead is tens of microseconds; the upper half shows trouble.
const OVERHEAD_SECONDS = {
  full: [
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1,
  ],
  basic: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.1],
}

// Up to 16 MiB.
const RESULT_BYTES = {
  full: Array.from({ length: 9 }, (_, power) => 256 * 4 ** power),
  basic: [1024, 16 * 1024, 256 * 1024, 4 * 1024 ** 2, 16 * 1024 ** 2],
}

const counter = <Label extends string = never>(labels: readonly Label[], help: string) =>
  ({ type: 'counter', labels, help }) as const
const gauge = <Label extends string = never>(labels: readonly Label[], help: string) =>
  ({ type: 'gauge', labels, help }) as const
const histogram = <Label extends string = never>(
  labels: readonly Label[],
  { full, basic }: Readonly<Record<MetricsDetail, readonly number[]>>,
  help: string,
) => ({ type: 'histogram', labels, help, buckets: full, basic }) as const

const TABLE = {
  squall_calls_total: counter(
    ['method', 'tool', 'outcome', 'origin'],
    'Completed MCP calls, by outcome and origin.',
  ),
  squall_errors_total: counter(
    ['tool', 'kind', 'origin'],
    'MCP calls whose outcome is neither ok nor cancelled, by kind and origin. A subset of squall_calls_total, exposed only with --metrics-detail full.',
  ),
  squall_calls_changed_total: counter(
    ['tool'],
    'MCP calls with outcome ok whose request or response a fault changed; delays do not count as changes. A subset of squall_calls_total.',
  ),
  squall_call_duration_seconds: histogram(
    ['tool', 'origin'],
    CALL_SECONDS,
    'Call latency as seen by the client, from the last request byte to the last response byte.',
  ),
  squall_upstream_duration_seconds: histogram(
    ['tool'],
    CALL_SECONDS,
    'Upstream latency of a call, regardless of the response that the client received.',
  ),
  squall_result_bytes: histogram(
    ['tool'],
    RESULT_BYTES,
    'Size in bytes, before compression, of tool results that clients receive, including the enclosing message: the JSON body, the event, or the message in a batch.',
  ),
  squall_overhead_seconds: histogram(
    [],
    OVERHEAD_SECONDS,
    'Processing time that Squall adds to an exchange, excluding waits for the upstream or the client.',
  ),
  squall_http_requests_total: counter(
    ['class', 'code', 'origin'],
    'HTTP exchanges without an MCP call.',
  ),
  squall_unclassified_total: counter(
    ['reason'],
    'Requests that looked like MCP but were forwarded unread, by reason.',
  ),
  squall_stdio_violations_total: counter(
    ['reason'],
    'Lines from a stdio server that violate the protocol, by reason; counted only with squall stdio --fail-on-violation.',
  ),
  squall_rejected_total: counter(
    ['reason'],
    'Requests that Squall rejected or handled without the upstream, by reason. upstream_misconfigured: the number of times that Squall detected an upstream that uses TLS or listens only on loopback.',
  ),
  squall_admin_rejected_total: counter(
    ['reason'],
    'Requests that the admin port rejected, by reason: reads with a disallowed host name or without the read token, and changes.',
  ),
  squall_call_log_lines_total: counter(
    ['result'],
    'Lines for --call-log, by result: written, or dropped because writing failed or was too slow.',
  ),
  squall_tape_messages_total: counter(
    ['result'],
    'MCP messages to record with --tape, by result: written, or dropped because recording has stopped.',
  ),
  squall_spans_dropped_total: counter(
    [],
    'Spans that were not exported, because the collector was too slow or unreachable, or rejected them.',
  ),
  squall_faults_injected_total: counter(
    ['rule', 'fault', 'tool'],
    'Injected faults, counted once per fault, rule and call. By default, Squall logs each injection, and each later request in a session that a fault ended.',
  ),
  squall_injected_delay_seconds: histogram(
    ['rule'],
    CALL_SECONDS,
    'Delay that faults were configured to add; one observation per event for faults that delay each stream event.',
  ),
  squall_canary_calls_total: counter(
    ['tool'],
    'Client messages that contain the canary of a poisoned result, which suggests that an agent obeyed the injected instruction.',
  ),
  squall_after_fault_total: counter(
    ['tool', 'fault', 'verdict'],
    'Verdicts about agent behaviour after faults and errors: one per injected fault and call, and one per error that no fault caused.',
  ),
  squall_tasks_total: counter(
    ['result'],
    'Completed agent tasks: failed if their last call failed, else recovered after a fault or an error, else ok.',
  ),
  squall_tasks_open: gauge([], 'Open agent tasks.'),
  squall_task_calls_total: counter(
    ['by'],
    'Calls that belong to a task, including retries but not handshakes or passive calls such as ping, by source of the task key.',
  ),
  squall_task_retries_total: counter(
    [],
    'Task calls that repeated a failed or changed call with the same arguments.',
  ),
  squall_task_wasted_calls_total: counter(
    [],
    'Wasted task calls: retries that failed again, and calls that the upstream executed twice.',
  ),
  squall_task_duplicate_executions_total: counter(
    ['tool', 'idempotent'],
    'Calls that the upstream executed twice, because the client did not receive the result of the first.',
  ),
  squall_falsified_total: counter(
    ['rule', 'tool', 'verdict'],
    'Falsified results, by what the agent did with the false value. not_seen: the task ended without use or verification. untracked: the value cannot be recognized.',
  ),
  squall_falsified_used_total: counter(
    ['tool', 'hint'],
    'Calls with a false value in their arguments, blocked or not, by tool annotation: read_only, additive, destructive or unknown.',
  ),
  squall_outbound_connections_total: counter(
    ['destination', 'outcome', 'origin'],
    'Closed TCP connections to dependencies, by outcome and origin. injected: a fault closed or blocked the connection. New connections are not counted while a rule refuses all of them.',
  ),
  squall_outbound_open_connections: gauge(['destination'], 'Open TCP connections to dependencies.'),
  squall_outbound_bytes_total: counter(
    ['destination', 'direction'],
    'Bytes of TCP connections to dependencies, sent and received.',
  ),
  squall_outbound_connect_seconds: histogram(
    ['destination'],
    CONNECT_SECONDS,
    'Time to establish a connection to a dependency.',
  ),
  squall_rule_matches_total: counter(
    ['rule'],
    'Calls, exchanges and connections that a rule matched.',
  ),
  squall_rule_sampled_total: counter(
    ['rule'],
    'Calls, exchanges and connections that a rule matched and sampled; squall_rule_evaluations_total shows the share that was injected.',
  ),
  squall_rule_evaluations_total: counter(
    ['rule', 'result'],
    'Rule evaluations of matched calls, exchanges and connections, by result: one per rule and call, counted once the result is known.',
  ),
  squall_rule_values_too_long_total: counter(
    ['rule'],
    'Rule evaluations in which a regex or glob did not match because the value was longer than 32768 characters.',
  ),
  squall_active_faults: gauge(['rule'], 'Faults currently in progress, by rule.'),
  squall_armed: gauge(
    [],
    '1 while the rules are armed, 0 while they are disarmed; squall_disarmed_reason has the reason.',
  ),
  squall_disarmed_reason: gauge(
    ['reason'],
    '1 for each reason for which the rules are currently disarmed, 0 for all other reasons.',
  ),
  squall_guard_trips_total: counter(
    ['reason'],
    'Number of times that a guard disarmed all rules, by reason: error_rate for --guard-error-rate, all other reasons for --rollback-on.',
  ),
  squall_rules_reloads_total: counter(
    ['result'],
    'Attempts to load the rules, by result: applied, rejected, or absent if the file was missing or empty.',
  ),
  squall_rules_last_reload_success: gauge(
    [],
    '0 if the last attempt to load the rules was rejected, otherwise 1.',
  ),
  squall_rules_last_reload_timestamp_seconds: gauge(
    [],
    'Unix time of the last attempt to load the rules: applied, rejected or absent.',
  ),
  squall_rules_info: gauge(
    ['digest', 'generation', 'seed'],
    'Always 1; the labels show the active rules version and the sampling seed.',
  ),
  squall_rules_unanchored: gauge(
    [],
    'Active rules with for, ramp, stages or --max-duration, but without appliedAt; their timing starts when this sidecar first loads them, or at a later from.',
  ),
  squall_header_faults_ignored_total: counter(
    [],
    'Values of fault headers that were ignored because they are invalid.',
  ),
  squall_connections: gauge(['kind'], 'Open connections, by kind: client, upstream or tunnel.'),
  squall_open_streams: gauge(
    ['kind'],
    'Open event streams, by kind: request (the response to a request) or push (server-initiated messages).',
  ),
  squall_memory_held_bytes: gauge(
    [],
    'Memory in bytes that in-flight messages use, as counted by Squall.',
  ),
  squall_memory_kept_bytes: gauge(
    [],
    'Memory that faults such as replay use for stored responses, released first when in-flight messages need memory.',
  ),
  squall_memory_limit_bytes: gauge(
    [],
    'Memory limit in bytes for in-flight messages: --max-memory or its default.',
  ),
  squall_memory_pressure_total: counter(
    ['reason'],
    'Actions taken to stay below the memory limit for in-flight messages, by reason: request_waited, request_unread, response_unread, fault_released, client_cut, kept_dropped.',
  ),
  squall_sessions: gauge([], 'MCP sessions in the session table.'),
  squall_in_flight_requests: gauge([], 'MCP calls currently in flight.'),
  squall_table_evictions_total: counter(
    ['table'],
    'Entries evicted because a table was full, by table.',
  ),
  squall_tool_names_dropped_total: counter(
    [],
    'Calls counted under the tool "other", because the limit on tool names was reached.',
  ),
  squall_clock_seconds: gauge(
    [],
    "Unix time of the sidecar's clock, which determines when rules start and end.",
  ),
  squall_build_info: gauge(
    ['version', 'node'],
    'Build information: always 1, with the versions of Squall and Node.js as labels.',
  ),
}

export type MetricName = keyof typeof TABLE

export type LabelName = (typeof TABLE)[MetricName]['labels'][number]

/** Every metric of Squall's own, in the order in which they are exposed. */
export const METRICS = Object.entries(TABLE).map(([name, spec]) => ({
  name,
  ...spec,
})) as readonly (MetricSpec & { readonly name: MetricName })[]

const BOUNDS = new Map(
  METRICS.map(
    ({ name, buckets = [], basic = [] }) =>
      [name, { full: Float64Array.from(buckets), basic: Float64Array.from(basic) }] as const,
  ),
)

/** Returns the upper bounds of a histogram in the table. */
export function bucketsOf(name: MetricName, detail: MetricsDetail = 'full'): Float64Array {
  return BOUNDS.get(name)![detail]
}
