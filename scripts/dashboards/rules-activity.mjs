import { ANY_IS_GOOD, lessIsBetter } from './colours.mjs'
import { FAULTS, quantile, rate } from './expressions.mjs'
import { series, states, table } from './panel.mjs'
import { POD, RULE } from './variables.mjs'

const APPLIED = `${RULE}, result="injected"`
const DELAY = 'squall_injected_delay_seconds'

const RELOADS = Object.entries({ applied: 'app', rejected: 'client', absent: 'plain' }).map(
  ([result, role]) => ({
    expr: `sum(increase(squall_rules_reloads_total{${POD}, result="${result}"}[$__rate_interval]))`,
    legend: `reload ${result}`,
    role,
  }),
)

/** The panels of the activity of rules over time. */
export const activity = [
  series({
    title: 'Matched, sampled, injected',
    description: 'Calls per second that the chosen rules matched, picked, and had an effect on.',
    unit: 'ops',
    queries: [
      { expr: rate('squall_rule_matches_total', RULE), legend: 'matched', role: 'plain' },
      { expr: rate('squall_rule_sampled_total', RULE), legend: 'sampled', role: 'app' },
      {
        expr: rate('squall_rule_evaluations_total', APPLIED),
        legend: 'injected',
        role: 'injected',
      },
    ],
  }),
  series({
    title: 'Faults by rule and tool',
    description:
      'Faults that took effect, per second, by rule, fault and the tool that was called.',
    unit: 'ops',
    stack: true,
    queries: [
      {
        expr: rate('squall_faults_injected_total', FAULTS, 'rule, fault, tool'),
        legend: 'injected: {{rule}}/{{fault}} on {{tool}}',
        role: 'injected',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Injected delay by rule (p50, p95)',
    description: 'Waits that the delays of each rule meant to add.',
    unit: 's',
    thresholds: lessIsBetter(10, 30),
    queries: [
      {
        expr: quantile(0.5, DELAY, RULE, 'rule'),
        legend: 'injected p50: {{rule}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: quantile(0.95, DELAY, RULE, 'rule'),
        legend: 'injected p95: {{rule}}',
        role: 'injected',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Acting now, and passed for want of room',
    description:
      'Calls on which faults act, by rule; and picked calls per second that passed because too many faults were in progress.',
    unit: 'short',
    queries: [
      {
        expr: `sum by (rule) (squall_active_faults{${RULE}})`,
        legend: 'injected: {{rule}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: rate('squall_faults_overflow_total', RULE, 'rule'),
        legend: 'overflow/s: {{rule}}',
        role: 'plain',
        shades: true,
      },
    ],
  }),
]

/** The panels of reloads. */
export const reloads = [
  states({
    title: 'Last reload',
    description: 'Whether the version of the rules found last was taken, by sidecar.',
    unit: 'short',
    thresholds: ANY_IS_GOOD,
    mappings: [
      {
        type: 'value',
        options: { 0: { index: 0, text: 'rejected' }, 1: { index: 1, text: 'taken' } },
      },
    ],
    queries: [
      {
        expr: `max by (cluster, namespace, pod, instance) (squall_rules_last_reload_success{${POD}})`,
        legend: '{{namespace}}/{{pod}} {{instance}}',
      },
    ],
  }),
  table({
    title: 'Active rules',
    description: 'Which version each sidecar has. Equal digests mean equal files.',
    unit: 'short',
    size: [12, 7],
    hideValue: true,
    by: ['cluster', 'namespace', 'workload', 'pod', 'instance', 'generation', 'digest'],
    queries: [
      {
        column: 'active',
        expr: `max by (cluster, namespace, workload, pod, instance, digest, generation) (squall_rules_info{${POD}})`,
      },
    ],
  }),
  series({
    title: 'Rules whose time counts from the start of the pod',
    description:
      'Active rules with for, ramp, stages or --max-duration and without appliedAt, by sidecar. Every new pod starts them again; squall apply writes appliedAt.',
    unit: 'short',
    decimals: 0,
    queries: [
      {
        expr: `max by (cluster, namespace, pod, instance) (squall_rules_unanchored{${POD}})`,
        legend: '{{namespace}}/{{pod}} {{instance}}',
        role: 'plain',
      },
    ],
  }),
  series({
    title: 'Reloads and trips of the guard',
    description:
      'Versions of the rules that were found, by what became of them; and how often the guard disarmed everything.',
    unit: 'short',
    bars: true,
    queries: [
      ...RELOADS,
      {
        expr: `sum by (reason) (increase(squall_guard_trips_total{${POD}}[$__rate_interval]))`,
        legend: 'guard (real errors): {{reason}}',
        role: 'real',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Invalid fault headers',
    description: 'Values per second of fault headers that could not be read.',
    unit: 'ops',
    thresholds: lessIsBetter(0.1, 1),
    queries: [
      { expr: rate('squall_header_faults_ignored_total', POD), legend: 'ignored', role: 'plain' },
    ],
  }),
]
