import { BAD, COLOURS, lessIsBetter, NEUTRAL, NONE_IS_GOOD } from './colours.mjs'
import { dashboard, markers } from './dashboard.mjs'
import { count, increase, mean, orZero, rate, share } from './expressions.mjs'
import { series, stat, table } from './panel.mjs'
import { activity, reloads } from './rules-activity.mjs'
import { POD, RULE } from './variables.mjs'

const MATCHES = 'squall_rule_matches_total'
const SAMPLED = 'squall_rule_sampled_total'
const RESULTS = 'squall_rule_evaluations_total'
const DELAY = 'squall_injected_delay_seconds'
// Excludes faults that callers request by headers, because the file has no rule for them.
const OF_FILE = `${RULE}, rule!="header-faults"`
const INJECTED = `${OF_FILE}, result="injected"`
const SELECTED = `${OF_FILE}, result=~"injected|dry_run"`
const ACTIVE = `squall_active_faults{${OF_FILE}}`
// A rule that does nothing stands out; what it does otherwise is neither good nor bad.
const ANY_SELECTED = [
  { value: null, color: BAD },
  { value: 0.5, color: 'transparent' },
]
const ANY_AT_ALL = [
  { value: null, color: 'yellow' },
  { value: 0.5, color: 'transparent' },
]

/** Active rules without an injection since the process start; a dry run counts as an injection. */
const IDLE = `(sum by (rule) (${RESULTS}{${SELECTED}}) == 0) and on (rule) ${ACTIVE}`

const LOADED = `squall_rules_last_reload_timestamp_seconds{${POD}}`
const OF_WORKLOAD = 'cluster, namespace, workload'
const NEWEST = `max by (${OF_WORKLOAD}) (${LOADED} and on (cluster, job, instance) squall_rules_last_reload_success{${POD}} == 1)`
/** The sidecars with another digest than the one of their workload that loaded its rules last. */
const OUTDATED = `max by (cluster, namespace, pod, instance) (squall_rules_info{${POD}} unless on (${OF_WORKLOAD}, digest) (squall_rules_info{${POD}} and on (cluster, job, instance) (${LOADED} == on (${OF_WORKLOAD}) group_left () ${NEWEST})))`

const now = [
  stat({
    title: 'Active rules',
    description: 'Number of distinct rules that are active in the selected pods.',
    unit: 'short',
    decimals: 0,
    thresholds: NEUTRAL,
    queries: [{ expr: orZero(`count(count by (rule) (${ACTIVE}))`), legend: 'rules' }],
    instant: true,
  }),
  stat({
    title: 'Idle rules',
    description:
      'Active rules that injected nothing in any selected pod since its process started. A dry run counts as an injection.',
    unit: 'short',
    decimals: 0,
    thresholds: NONE_IS_GOOD,
    queries: [{ expr: orZero(`count(${IDLE})`), legend: 'idle rules' }],
    instant: true,
  }),
  stat({
    title: 'Faults in progress',
    description: 'Calls that a fault is affecting now, such as delayed or hanging calls.',
    unit: 'short',
    decimals: 0,
    role: 'injected',
    queries: [{ expr: orZero(`sum(squall_active_faults{${RULE}})`), legend: 'injected' }],
  }),
  stat({
    title: 'Last reload rejected',
    description:
      'Sidecars that rejected the latest rules file; their previous rules stay active. squall status shows the error.',
    unit: 'short',
    decimals: 0,
    thresholds: NONE_IS_GOOD,
    queries: [
      { expr: orZero(`count(squall_rules_last_reload_success{${POD}} == 0)`), legend: 'rejected' },
    ],
    instant: true,
  }),
  stat({
    title: 'Active rules versions',
    description:
      'Number of distinct rules files that are active in the selected pods. More than one in a workload means that replicas differ, as they do in the first minute after an edit.',
    unit: 'short',
    decimals: 0,
    thresholds: lessIsBetter(2, 4),
    queries: [
      { expr: orZero(`count(count by (digest) (squall_rules_info{${POD}}))`), legend: 'versions' },
    ],
    instant: true,
  }),
  stat({
    title: 'Outdated sidecars',
    description:
      'Sidecars whose rules digest differs from that of the sidecar that loaded the ConfigMap of the workload last.',
    unit: 'short',
    thresholds: NONE_IS_GOOD,
    queries: [{ expr: orZero(`count(${OUTDATED})`), legend: 'outdated' }],
    instant: true,
  }),
  stat({
    title: 'Last reload',
    description: 'Time since the last reload of the rules, successful or rejected.',
    unit: 's',
    decimals: 0,
    thresholds: NEUTRAL,
    queries: [
      {
        expr: `time() - max(squall_rules_last_reload_timestamp_seconds{${POD}})`,
        legend: 'age',
      },
    ],
    instant: true,
  }),
]

const rules = [
  table({
    title: 'Rules',
    description:
      'Rule results for matched calls in the selected time range. Selected: calls with an injected or dry-run fault. Orange: no calls selected. Yellow: no calls matched, often because of a wrong tool name.',
    unit: 'short',
    size: [24, 9],
    by: ['rule'],
    sortBy: { column: 'Selected', desc: false },
    queries: [
      {
        column: 'Matched',
        expr: count(MATCHES, OF_FILE, 'rule'),
        decimals: 0,
        thresholds: ANY_AT_ALL,
      },
      { column: 'Sampled', expr: count(SAMPLED, OF_FILE, 'rule'), decimals: 0 },
      {
        column: 'Selected',
        expr: count(RESULTS, SELECTED, 'rule'),
        decimals: 0,
        thresholds: ANY_SELECTED,
      },
      {
        column: 'Injected',
        expr: count(RESULTS, INJECTED, 'rule'),
        decimals: 0,
        role: 'injected',
      },
      {
        column: 'Skipped',
        expr: share(
          increase(RESULTS, `${OF_FILE}, result!="injected"`, 'rule'),
          increase(RESULTS, OF_FILE, 'rule'),
        ),
        unit: 'percentunit',
      },
      {
        column: 'Over limit',
        expr: `${count(RESULTS, `${OF_FILE}, result="concurrency_limit"`, 'rule')} or 0 * ${increase(MATCHES, OF_FILE, 'rule')}`,
        decimals: 0,
      },
      {
        column: 'Value too long',
        expr: count('squall_rule_values_too_long_total', OF_FILE, 'rule'),
        decimals: 0,
      },
      { column: 'In progress', expr: `sum by (rule) (${ACTIVE})`, decimals: 0, role: 'injected' },
      {
        column: 'Delay, mean',
        expr: mean(DELAY, OF_FILE, 'rule', '$__range'),
        unit: 's',
        role: 'injected',
      },
    ],
  }),
  table({
    title: 'Idle rules',
    description:
      'Active rules that injected nothing since the sidecars started, with the number of matched calls. `squall explain` shows the failing condition.',
    unit: 'short',
    size: [12, 7],
    by: ['rule'],
    queries: [
      {
        column: 'Matched',
        expr: `sum by (rule) (${MATCHES}{${OF_FILE}}) and on (rule) (${IDLE})`,
        decimals: 0,
        thresholds: [{ value: null, color: BAD }],
      },
    ],
  }),
  series({
    title: 'Skipped calls by reason',
    description:
      'Rate of matched calls without an injected fault, by rule and reason. Grey: not sampled. Blue: inactive rule. Orange: sampled, but no fault injected. docs/concepts/rules.md#results explains the reasons.',
    unit: 'ops',
    stack: true,
    size: [12, 7],
    queries: [
      {
        expr: rate(RESULTS, `${RULE}, result=~"not_selected|not_sampled"`, 'rule, result'),
        legend: '{{rule}}: {{result}}',
        role: 'plain',
        shades: true,
      },
      {
        expr: rate(
          RESULTS,
          `${RULE}, result=~"disarmed|other_pod|not_yet|expired|quota_used"`,
          'rule, result',
        ),
        legend: '{{rule}}: {{result}}',
        role: 'app',
        shades: true,
      },
      {
        expr: rate(
          RESULTS,
          `${RULE}, result=~"dry_run|concurrency_limit|within_limit|forbidden|not_applicable|not_reached"`,
          'rule, result',
        ),
        legend: '{{rule}}: {{result}}',
        role: 'client',
        shades: true,
      },
    ],
  }),
]

/** Shows the activity of each rule, and the reasons for inactivity. */
export function rulesDashboard() {
  const reload = `squall_rules_last_reload_timestamp_seconds{${POD}} * 1000 and on (cluster, job, instance)`
  return dashboard({
    uid: 'squall-rules',
    title: 'Squall / Rules',
    description:
      'Matches, samples and injections of each rule, reasons for skipped calls, and reloads.',
    variables: ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod', 'rule', 'tool'],
    annotations: [
      markers({
        name: 'Rules reloaded',
        colour: COLOURS.injected,
        expr: `${reload} squall_rules_last_reload_success{${POD}} == 1`,
        title: 'Rules reloaded',
        text: '{{pod}} {{instance}}',
      }),
      markers({
        name: 'Rules rejected',
        colour: BAD,
        expr: `${reload} squall_rules_last_reload_success{${POD}} == 0`,
        title: 'Rules rejected',
        text: '{{pod}} {{instance}} keeps the previous rules',
      }),
    ],
    rows: [
      { title: 'Now', panels: now },
      { title: 'Rules in detail', panels: rules },
      { title: 'Rule activity', panels: activity },
      { title: 'Reloads', panels: reloads },
    ],
  })
}
