import { ANY_IS_GOOD, lessIsBetter } from './colours.mjs'
import { FAULTS, quantile, rate } from './expressions.mjs'
import { series, states, table } from './panel.mjs'
import { POD, RULE } from './variables.mjs'

const APPLIED = `${RULE}, result="injected"`
const DELAY = 'squall_injected_delay_seconds'

const RELOADS = Object.entries({ applied: 'app', rejected: 'client', absent: 'plain' }).map(
  ([result, role]) => ({
    expr: `round(sum(increase(squall_rules_reloads_total{${POD}, result="${result}"}[$__rate_interval])))`,
    legend: `reload ${result}`,
    role,
  }),
)

/** The panels of the activity of rules over time. */
export const activity = [
  series({
    title: 'Matched, sampled and injected calls',
    description: 'Rate of matched, sampled and injected calls of the selected rules.',
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
    description: 'Rate of injected faults, by rule, fault and tool.',
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
    description: 'Delays that faults were configured to add, by rule.',
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
    title: 'Faults in progress and calls over the limit',
    description:
      'Calls with a fault in progress, by rule, and sampled calls that passed because of the concurrency limit.',
    unit: 'short',
    queries: [
      {
        expr: `sum by (rule) (squall_active_faults{${RULE}})`,
        legend: 'injected: {{rule}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: `round(sum by (rule) (increase(squall_rule_evaluations_total{${RULE}, result="concurrency_limit"}[$__rate_interval]))) or 0 * ${rate('squall_rule_matches_total', RULE, 'rule')}`,
        legend: 'overflow: {{rule}}',
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
    description: 'Whether the last reload of the rules succeeded, by sidecar.',
    unit: 'short',
    thresholds: ANY_IS_GOOD,
    mappings: [
      {
        type: 'value',
        options: { 0: { index: 0, text: 'rejected' }, 1: { index: 1, text: 'reloaded' } },
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
    description:
      'Active rules version of each sidecar. Sidecars with the same digest have the same rules file.',
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
    title: 'Rules timed from pod start',
    description:
      'Active rules with for, ramp, stages or --max-duration but no appliedAt, by sidecar. Their timing restarts in each new pod; squall apply sets appliedAt.',
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
    title: 'Reloads and guard trips',
    description:
      'Rules reloads by result, and the number of times that the guard or --rollback-on disarmed all rules.',
    unit: 'short',
    bars: true,
    queries: [
      ...RELOADS,
      {
        expr: `round(sum by (reason) (increase(squall_guard_trips_total{${POD}}[$__rate_interval])))`,
        legend: 'guard (real errors): {{reason}}',
        role: 'real',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Invalid fault headers',
    description: 'Fault header values per second that could not be parsed and were ignored.',
    unit: 'ops',
    thresholds: lessIsBetter(0.1, 1),
    queries: [
      { expr: rate('squall_header_faults_ignored_total', POD), legend: 'ignored', role: 'plain' },
    ],
  }),
]
