import { BAD, COLOURS, lessIsBetter, NEUTRAL, NONE_IS_GOOD } from './colours.mjs'
import { dashboard, markers } from './dashboard.mjs'
import { increase, mean, orZero, rate, share } from './expressions.mjs'
import { series, stat, table } from './panel.mjs'
import { activity, reloads } from './rules-activity.mjs'
import { POD, RULE } from './variables.mjs'

const MATCHES = 'squall_rule_matches_total'
const DRAWS = 'squall_rule_sampled_total'
const RESULTS = 'squall_rule_evaluations_total'
const DELAY = 'squall_injected_delay_seconds'
// What callers ask for by headers is no rule of the file.
const OF_FILE = `${RULE}, rule!="header-faults"`
const APPLIED = `${OF_FILE}, result="injected"`
const HITS = `${OF_FILE}, result=~"injected|dry_run"`
const IN_FORCE = `squall_active_faults{${OF_FILE}}`
// A rule that does nothing stands out; what it does otherwise is neither good nor bad.
const ANY_HIT = [
  { value: null, color: BAD },
  { value: 0.5, color: 'transparent' },
]
const ANY_AT_ALL = [
  { value: null, color: 'yellow' },
  { value: 0.5, color: 'transparent' },
]

/** Active rules that have hit nothing since their processes began; one that only looks hits, too. */
const WITHOUT_HITS = `(sum by (rule) (${RESULTS}{${HITS}}) == 0) and on (rule) ${IN_FORCE}`

const now = [
  stat({
    title: 'Active rules',
    description: 'Different rules that are active in the chosen pods.',
    unit: 'short',
    decimals: 0,
    thresholds: NEUTRAL,
    queries: [{ expr: orZero(`count(count by (rule) (${IN_FORCE}))`), legend: 'rules' }],
    instant: true,
  }),
  stat({
    title: 'Rules without a hit',
    description:
      'Active rules that have hit nothing in any chosen pod since its process began. A rule in a dry run hits what it would have acted on.',
    unit: 'short',
    decimals: 0,
    thresholds: NONE_IS_GOOD,
    queries: [{ expr: orZero(`count(${WITHOUT_HITS})`), legend: 'without a hit' }],
    instant: true,
  }),
  stat({
    title: 'Faults acting now',
    description: 'Calls on which faults act at this moment.',
    unit: 'short',
    decimals: 0,
    role: 'injected',
    queries: [{ expr: orZero(`sum(squall_active_faults{${RULE}})`), legend: 'injected' }],
  }),
  stat({
    title: 'Last reload rejected',
    description:
      'Sidecars that rejected the rules file found last and go on with the rules before.',
    unit: 'short',
    decimals: 0,
    thresholds: NONE_IS_GOOD,
    queries: [
      { expr: orZero(`count(squall_rules_last_reload_success{${POD}} == 0)`), legend: 'rejected' },
    ],
    instant: true,
  }),
  stat({
    title: 'Active versions',
    description:
      'Different rules files active in the chosen pods. More than one within a workload means that its replicas do not agree, as for a minute after an edit.',
    unit: 'short',
    decimals: 0,
    thresholds: lessIsBetter(2, 4),
    queries: [
      { expr: orZero(`count(count by (digest) (squall_rules_info{${POD}}))`), legend: 'versions' },
    ],
    instant: true,
  }),
  stat({
    title: 'Last reload',
    description: 'How long ago a version of the rules was found last, active or rejected.',
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
      'What became of the calls that each rule matched, over the time shown. Hits are what it acted on, or would have, if it is in a dry run. Orange: nothing was hit. Yellow: nothing was matched, often a name that nobody calls.',
    unit: 'short',
    size: [24, 9],
    by: ['rule'],
    sortBy: { column: 'Hits', desc: false },
    queries: [
      {
        column: 'Matched',
        expr: increase(MATCHES, OF_FILE, 'rule'),
        decimals: 0,
        thresholds: ANY_AT_ALL,
      },
      { column: 'Drawn', expr: increase(DRAWS, OF_FILE, 'rule'), decimals: 0 },
      {
        column: 'Hits',
        expr: increase(RESULTS, HITS, 'rule'),
        decimals: 0,
        thresholds: ANY_HIT,
      },
      {
        column: 'Applied',
        expr: increase(RESULTS, APPLIED, 'rule'),
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
        column: 'Overflow',
        expr: increase('squall_faults_overflow_total', OF_FILE, 'rule'),
        decimals: 0,
      },
      {
        column: 'Value too long',
        expr: increase('squall_rule_values_too_long_total', OF_FILE, 'rule'),
        decimals: 0,
      },
      { column: 'Acting now', expr: `sum by (rule) (${IN_FORCE})`, decimals: 0, role: 'injected' },
      {
        column: 'Delay, mean',
        expr: mean(DELAY, OF_FILE, 'rule', '$__range'),
        unit: 's',
        role: 'injected',
      },
    ],
  }),
  table({
    title: 'Rules without a hit',
    description:
      'Active rules that have hit nothing since their processes began, with how many calls they matched. `squall explain` with a call that one was meant for says which condition fails.',
    unit: 'short',
    size: [12, 7],
    by: ['rule'],
    queries: [
      {
        column: 'Matched',
        expr: `sum by (rule) (${MATCHES}{${OF_FILE}}) and on (rule) (${WITHOUT_HITS})`,
        decimals: 0,
        thresholds: [{ value: null, color: BAD }],
      },
    ],
  }),
  series({
    title: 'Why calls were skipped',
    description:
      'Calls per second that a rule matched and had no effect on, by rule and reason: grey where it was not picked, blue where the rule was not to act, orange where it was picked in vain. The reasons are explained with the rules file.',
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

/** What does each rule do, and why not? */
export function rulesDashboard() {
  const reload = `squall_rules_last_reload_timestamp_seconds{${POD}} * 1000 and on (cluster, job, instance)`
  return dashboard({
    uid: 'squall-rules',
    title: 'Squall / Rules',
    description:
      'What each rule matched, drew and did, why it did not, and how its file was reloaded.',
    variables: ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod', 'rule', 'tool'],
    annotations: [
      markers({
        name: 'Rules taken',
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
        text: '{{pod}} {{instance}} goes on with the rules before',
      }),
    ],
    rows: [
      { title: 'Now', panels: now },
      { title: 'Rule by rule', panels: rules },
      { title: 'What they do', panels: activity },
      { title: 'Reloads', panels: reloads },
    ],
  })
}
