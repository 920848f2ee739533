import { OUTBOUND_METRICS } from './outbound-metric-table.ts'
import { TASK_METRICS } from './task-metric-table.ts'

/** Declares one metric for the exposition and the documentation. */
export interface MetricSpec {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds in ascending order, without the infinite one; histograms only. */
  readonly buckets?: readonly number[]
}

// From a cache hit to the longest time that clients wait.
const CALL_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const

// The overhead is tens of microseconds; the upper half shows trouble.
const OVERHEAD_SECONDS = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
] as const

/** Every metric of Squall's own, in the order in which they are exposed. */
export const METRICS = [
  {
    name: 'squall_calls_total',
    type: 'counter',
    help: 'MCP calls that ended, by outcome and origin.',
    labels: ['method', 'tool', 'outcome', 'origin'],
  },
  {
    name: 'squall_errors_total',
    type: 'counter',
    help: 'MCP calls that failed: every outcome but ok and cancelled, by origin. A part of squall_calls_total.',
    labels: ['tool', 'kind', 'origin'],
  },
  {
    name: 'squall_calls_changed_total',
    type: 'counter',
    help: 'MCP calls that ended ok although a fault changed their request or response; a delay is no change. A part of squall_calls_total.',
    labels: ['tool'],
  },
  {
    name: 'squall_call_duration_seconds',
    type: 'histogram',
    help: 'Time of a call as the client sees it, from the last byte of the request to the last of the response.',
    labels: ['tool', 'origin'],
    buckets: CALL_SECONDS,
  },
  {
    name: 'squall_upstream_duration_seconds',
    type: 'histogram',
    help: 'Time that the upstream took to respond to a call, whatever response the client received.',
    labels: ['tool'],
    buckets: CALL_SECONDS,
  },
  {
    name: 'squall_result_bytes',
    type: 'histogram',
    help: 'Size of tool results as clients get them, with the message around them: the JSON body, the event, or the message of a batch.',
    labels: ['tool'],
    buckets: Array.from({ length: 9 }, (_, power) => 256 * 4 ** power), // up to 16 MiB
  },
  {
    name: 'squall_overhead_seconds',
    type: 'histogram',
    help: 'Time that Squall itself spent on the request and the response of one exchange; waiting for the upstream or the client is excluded.',
    labels: [],
    buckets: OVERHEAD_SECONDS,
  },
  {
    name: 'squall_http_requests_total',
    type: 'counter',
    help: 'HTTP exchanges that carried no call.',
    labels: ['class', 'code', 'origin'],
  },
  {
    name: 'squall_unclassified_total',
    type: 'counter',
    help: 'Requests that looked like MCP and were passed on unread.',
    labels: ['reason'],
  },
  {
    name: 'squall_stdio_violations_total',
    type: 'counter',
    help: 'Lines of a server on stdio that violate the protocol; counted by squall stdio --strict alone.',
    labels: ['reason'],
  },
  {
    name: 'squall_rejected_total',
    type: 'counter',
    help: 'Requests that Squall responded to itself or dropped; upstream_misconfigured counts how often the upstream was found to speak TLS or to listen on loopback only.',
    labels: ['reason'],
  },
  {
    name: 'squall_admin_rejected_total',
    type: 'counter',
    help: 'Requests that the admin port rejected: reads by a foreign host name, reads without the read token, and changes.',
    labels: ['reason'],
  },
  {
    name: 'squall_call_log_lines_total',
    type: 'counter',
    help: 'Lines of --call-log: written, or dropped because the file could not be written for too long.',
    labels: ['result'],
  },
  {
    name: 'squall_faults_injected_total',
    type: 'counter',
    help: 'Faults that took effect, counted once for each fault of a rule and call, however often it acted on the call. The log has one line for each, and for each later request of a session that a fault ended.',
    labels: ['rule', 'fault', 'tool'],
  },
  {
    name: 'squall_injected_delay_seconds',
    type: 'histogram',
    help: 'Intended delays of faults, each observed separately: a delay before each event of a stream counts for each event.',
    labels: ['rule'],
    buckets: CALL_SECONDS,
  },
  {
    name: 'squall_canary_calls_total',
    type: 'counter',
    help: 'Calls and other messages of clients that contain the canary of a result which the fault poison changed: an agent obeyed it.',
    labels: ['tool'],
  },
  ...TASK_METRICS,
  ...OUTBOUND_METRICS,
  {
    name: 'squall_rule_matches_total',
    type: 'counter',
    help: 'Calls and exchanges that a rule matched, whatever the result.',
    labels: ['rule'],
  },
  {
    name: 'squall_rule_sampled_total',
    type: 'counter',
    help: 'Calls and exchanges that a rule matched and sampled; squall_rule_evaluations_total shows how many of them were injected.',
    labels: ['rule'],
  },
  {
    name: 'squall_rule_evaluations_total',
    type: 'counter',
    help: 'Results of a rule for the calls and exchanges that it matched: one result for each, once it is known.',
    labels: ['rule', 'result'],
  },
  {
    name: 'squall_rule_values_too_long_total',
    type: 'counter',
    help: 'Evaluations of a rule that met a value above 32768 characters, which its regex or glob cannot read.',
    labels: ['rule'],
  },
  {
    name: 'squall_active_faults',
    type: 'gauge',
    help: 'Calls on which faults of a rule are acting now; each active rule has this series.',
    labels: ['rule'],
  },
  {
    name: 'squall_faults_overflow_total',
    type: 'counter',
    help: 'Calls that were sampled and passed untouched because too many faults were in progress.',
    labels: ['rule'],
  },
  {
    name: 'squall_armed',
    type: 'gauge',
    help: '1 while the rules are armed, 0 while they are disarmed; squall_disarmed_reason has the reason.',
    labels: [],
  },
  {
    name: 'squall_disarmed_reason',
    type: 'gauge',
    help: '1 for each reason that disarms the rules now, 0 for the other possible reasons.',
    labels: ['reason'],
  },
  {
    name: 'squall_guard_trips_total',
    type: 'counter',
    help: 'How often the guard disarmed all rules: error_rate by --guard-error-rate, the others by conditions of --rollback-on.',
    labels: ['reason'],
  },
  {
    name: 'squall_rules_reloads_total',
    type: 'counter',
    help: 'Versions of the rules that were read: applied, rejected, or absent when the file was missing or empty.',
    labels: ['result'],
  },
  {
    name: 'squall_rules_last_reload_success',
    type: 'gauge',
    help: '0 when the last version of the rules that was read was rejected, else 1.',
    labels: [],
  },
  {
    name: 'squall_rules_last_reload_timestamp_seconds',
    type: 'gauge',
    help: 'When a version of the rules was last read, applied or rejected.',
    labels: [],
  },
  {
    name: 'squall_rules_info',
    type: 'gauge',
    help: 'Always 1; the labels say which version of the rules is active, and the seed of its samples.',
    labels: ['digest', 'generation', 'seed'],
  },
  {
    name: 'squall_rules_unanchored',
    type: 'gauge',
    help: 'Active rules with for, ramp, stages or --max-duration and without appliedAt: their times count from when this sidecar first saw them.',
    labels: [],
  },
  {
    name: 'squall_header_faults_ignored_total',
    type: 'counter',
    help: 'Header values that asked for faults and could not be read.',
    labels: [],
  },
  {
    name: 'squall_connections',
    type: 'gauge',
    help: 'Open connections.',
    labels: ['kind'],
  },
  {
    name: 'squall_open_streams',
    type: 'gauge',
    help: 'Open event streams: request for the response to a request, push for a stream of server-initiated messages.',
    labels: ['kind'],
  },
  {
    name: 'squall_memory_held_bytes',
    type: 'gauge',
    help: 'Memory that messages in flight hold, as Squall counts it.',
    labels: [],
  },
  {
    name: 'squall_memory_kept_bytes',
    type: 'gauge',
    help: 'Memory that faults such as replay keep for later calls. It is released first when messages in flight need memory.',
    labels: [],
  },
  {
    name: 'squall_memory_limit_bytes',
    type: 'gauge',
    help: 'The bound on the memory of messages in flight: --max-memory.',
    labels: [],
  },
  {
    name: 'squall_memory_pressure_total',
    type: 'counter',
    help: 'Measures taken because messages in flight held too much memory: request_waited, request_unread, response_unread, fault_released, client_cut, kept_dropped.',
    labels: ['reason'],
  },
  {
    name: 'squall_sessions',
    type: 'gauge',
    help: 'MCP sessions that Squall remembers.',
    labels: [],
  },
  {
    name: 'squall_in_flight_requests',
    type: 'gauge',
    help: 'Calls that have not ended yet.',
    labels: [],
  },
  {
    name: 'squall_table_evictions_total',
    type: 'counter',
    help: 'Entries dropped from a table because it was full.',
    labels: ['table'],
  },
  {
    name: 'squall_tool_names_dropped_total',
    type: 'counter',
    help: 'Calls whose tool is counted as "other" because the bound on tool names was reached.',
    labels: [],
  },
  {
    name: 'squall_build_info',
    type: 'gauge',
    help: 'Always 1; the labels hold the versions.',
    labels: ['version', 'node'],
  },
] as const satisfies readonly MetricSpec[]

/** The name of a metric in the table. */
export type MetricName = (typeof METRICS)[number]['name']

/** Returns the upper bounds of a histogram in the table. */
export function bucketsOf(name: MetricName): Float64Array {
  const spec: MetricSpec | undefined = METRICS.find((metric) => metric.name === name)
  return Float64Array.from(spec?.buckets ?? [])
}
