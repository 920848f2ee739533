/** How one series family is declared: everything that the registry and the documentation need. */
export interface MetricSpec {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds in ascending order, without the infinite one; histograms only. */
  readonly buckets?: readonly number[]
}

// From a cache hit to the longest wait that clients put up with.
const CALL_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const

// Squall's own share is tens of microseconds; the upper half is there to show trouble.
const OVERHEAD_SECONDS = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
] as const

/** Every metric of Squall's own, in the order in which they are exposed. */
export const METRICS = [
  {
    name: 'squall_calls_total',
    type: 'counter',
    help: 'MCP calls that ended, by how they ended and who made them end so.',
    labels: ['method', 'tool', 'outcome', 'origin'],
  },
  {
    name: 'squall_errors_total',
    type: 'counter',
    help: 'MCP calls that failed: every outcome but ok and cancelled, by who made them fail. The same calls as in squall_calls_total.',
    labels: ['tool', 'kind', 'origin'],
  },
  {
    name: 'squall_calls_changed_total',
    type: 'counter',
    help: 'MCP calls that ended ok although a fault changed what they asked or brought; a delay is no change. A part of squall_calls_total.',
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
    help: 'Time that the app took for a call, whatever the client was shown.',
    labels: ['tool'],
    buckets: CALL_SECONDS,
  },
  {
    name: 'squall_overhead_seconds',
    type: 'histogram',
    help: 'Time that Squall itself spent on one exchange, on both ways; waiting for the app or the client is not in it.',
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
    name: 'squall_refused_total',
    type: 'counter',
    help: 'Requests that Squall answered or turned away itself; upstream_misconfigured counts how often the app was found to speak TLS or to listen on loopback alone.',
    labels: ['reason'],
  },
  {
    name: 'squall_admin_refused_total',
    type: 'counter',
    help: 'Requests that the admin port refused: reads by a name that is not its own, reads without the read token, and changes.',
    labels: ['reason'],
  },
  {
    name: 'squall_faults_injected_total',
    type: 'counter',
    help: 'Faults that took effect, counted once for each fault of a rule and call however often it acted there. As many as lines in the log.',
    labels: ['rule', 'fault', 'tool'],
  },
  {
    name: 'squall_injected_delay_seconds',
    type: 'histogram',
    help: 'Waits that faults meant to add, each one by itself: a delay before each event of a stream counts for each event.',
    labels: ['rule'],
    buckets: CALL_SECONDS,
  },
  {
    name: 'squall_rule_matches_total',
    type: 'counter',
    help: 'Calls and exchanges that a rule matched, whatever became of them.',
    labels: ['rule'],
  },
  {
    name: 'squall_rule_sampled_total',
    type: 'counter',
    help: 'Calls and exchanges that a rule matched and picked; a draw may still come to nothing, which squall_rule_evaluations_total tells.',
    labels: ['rule'],
  },
  {
    name: 'squall_rule_evaluations_total',
    type: 'counter',
    help: 'What became of the calls and exchanges that a rule matched: one result for each, once it is known.',
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
    help: 'Calls on which faults of a rule act right now; each active rule has this series.',
    labels: ['rule'],
  },
  {
    name: 'squall_faults_overflow_total',
    type: 'counter',
    help: 'Calls that were picked and passed untouched because too many faults were in progress.',
    labels: ['rule'],
  },
  {
    name: 'squall_armed',
    type: 'gauge',
    help: '1 while rules may act, 0 while something disarms them, which squall_disarmed_reason tells.',
    labels: [],
  },
  {
    name: 'squall_disarmed_reason',
    type: 'gauge',
    help: '1 for each reason that disarms the rules, 0 for those that could.',
    labels: ['reason'],
  },
  {
    name: 'squall_guard_trips_total',
    type: 'counter',
    help: 'How often the guard disarmed all rules.',
    labels: ['reason'],
  },
  {
    name: 'squall_rules_reloads_total',
    type: 'counter',
    help: 'Versions of the rules that were found: applied, refused, or absent when there was no file or an empty one.',
    labels: ['result'],
  },
  {
    name: 'squall_rules_last_reload_success',
    type: 'gauge',
    help: '0 when the version of the rules that was found last was refused, else 1.',
    labels: [],
  },
  {
    name: 'squall_rules_last_reload_timestamp_seconds',
    type: 'gauge',
    help: 'When a version of the rules was found last, applied or refused.',
    labels: [],
  },
  {
    name: 'squall_rules_info',
    type: 'gauge',
    help: 'Always 1; the labels say which version of the rules is active.',
    labels: ['digest', 'generation'],
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
    help: 'Header values by which callers asked for faults, and that could not be read.',
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
    help: 'Open event streams: request for a response that streams, push for one that the server writes to at will.',
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
    help: 'Memory that faults such as replay keep for later calls. It goes first when messages in flight need it.',
    labels: [],
  },
  {
    name: 'squall_memory_limit_bytes',
    type: 'gauge',
    help: 'How much messages in flight may hold together: --max-memory.',
    labels: [],
  },
  {
    name: 'squall_memory_pressure_total',
    type: 'counter',
    help: 'What was done because messages in flight held too much memory: request_waited, request_unread, response_unread, fault_released, client_cut, kept_dropped.',
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
    help: 'Always 1; the labels say what is running.',
    labels: ['version', 'node'],
  },
] as const satisfies readonly MetricSpec[]

/** The name of a metric in the table. */
export type MetricName = (typeof METRICS)[number]['name']

/** What each label holds and what bounds its values. */
export const LABELS: Readonly<Record<(typeof METRICS)[number]['labels'][number], string>> = {
  method: 'JSON-RPC method; `other` when it is none of MCP.',
  tool: 'Tool name of a `tools/call`, cut to 128 characters; empty for other methods; `other` beyond the first 200 names.',
  outcome:
    '`ok`, `tool_error`, `rpc_error`, `http_error`, `reset`, `timeout`, `cancelled`, `incomplete`, `abandoned`.',
  origin:
    'Who made the outcome: `upstream` (the app), `injected` (a fault), `squall` (Squall itself).',
  class: '`mcp` (streams, notifications, session ends), `http`, `upgrade`.',
  code: 'HTTP status; `none` when there was no response, `other` outside 100 to 599.',
  reason: 'Why, in one word.',
  kind: '`client`, `upstream`, `tunnel` for connections; `request`, `push` for streams; the outcome for errors.',
  rule: "The rule's name; `other` beyond the first 2,000 names since the process began.",
  fault: "The fault's name.",
  result:
    'For reloads `applied`, `rejected`, `absent`. For rules `disarmed`, `other_pod`, `not_yet`, `expired`, `quota_used`, `not_selected`, `not_sampled`, `forbidden`; and for calls that were sampled `dry_run`, `injected`, `concurrency_limit`, `within_limit`, `not_applicable`, `not_reached`.',
  digest: 'Of the rules as they were read.',
  generation: 'How many versions of the rules became active.',
  table: '`sessions`, `pending_calls`, `endpoints`, `redirects`.',
  version: "Squall's version.",
  node: "Node's version.",
}

/** The upper bounds of a histogram in the table. */
export function bucketsOf(name: MetricName): Float64Array {
  const spec: MetricSpec | undefined = METRICS.find((metric) => metric.name === name)
  return Float64Array.from(spec?.buckets ?? [])
}
