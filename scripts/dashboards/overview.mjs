import { ARMED_COLOURS, COLOURS, MORE_IS_BETTER } from './colours.mjs'
import { dashboard, markers } from './dashboard.mjs'
import {
  availability,
  CALLS,
  FAULTS,
  increase,
  INJECTED_ERRORS,
  orZero,
  OWN_CALLS,
  rate,
  REAL_ERRORS,
  share,
} from './expressions.mjs'
import { agents } from './overview-agents.mjs'
import { dependencies } from './overview-dependencies.mjs'
import { armed, latency, tools } from './overview-tools.mjs'
import { series, stat } from './panel.mjs'
import { POD, TOOL } from './variables.mjs'

const ALL = 'squall_calls_total'
function sharesOver(range, part, whole) {
  return share(rate(ALL, part, '', range), rate(ALL, whole, '', range))
}

const now = [
  stat({
    title: 'Effective tool availability',
    description:
      'Calls that ended well, and in which no fault changed anything, of all calls; over the time shown. It is responded ÷ calls times untouched ÷ responded. What was changed is computed from the faults: exact where no two act on one call.',
    unit: 'percentunit',
    decimals: 2,
    thresholds: MORE_IS_BETTER,
    queries: [{ expr: availability('', '$__range'), legend: 'availability' }],
    instant: true,
  }),
  stat({
    title: 'Injected errors',
    description: 'Calls that failed by a fault, of all calls; over the time shown.',
    unit: 'percentunit',
    decimals: 2,
    role: 'injected',
    queries: [{ expr: sharesOver('$__range', INJECTED_ERRORS, CALLS), legend: 'injected' }],
    instant: true,
  }),
  stat({
    title: 'Real errors',
    description:
      'Calls that failed by the upstream or by Squall itself, of those whose outcome no fault made; over the time shown.',
    unit: 'percentunit',
    decimals: 2,
    role: 'real',
    queries: [{ expr: sharesOver('$__range', REAL_ERRORS, OWN_CALLS), legend: 'real' }],
    instant: true,
  }),
  stat({
    title: 'Faults injected',
    description:
      'Faults that took effect over the time shown: one for each fault of a rule and call.',
    unit: 'short',
    decimals: 0,
    role: 'injected',
    queries: [
      { expr: orZero(increase('squall_faults_injected_total', FAULTS)), legend: 'injected' },
    ],
    instant: true,
  }),
  stat({
    title: 'Armed sidecars with rules',
    description:
      'Sidecars that may inject faults right now: armed, and with at least one active rule.',
    unit: 'short',
    decimals: 0,
    thresholds: ARMED_COLOURS,
    queries: [
      {
        expr: orZero(
          `count(squall_armed{${POD}} == 1 and on (cluster, job, instance) squall_active_faults{${POD}})`,
        ),
        legend: 'armed',
      },
    ],
    instant: true,
  }),
  stat({
    title: 'Tool calls',
    description:
      'Calls of tools that ended, per second; without those that their clients cancelled on purpose.',
    unit: 'reqps',
    queries: [{ expr: orZero(rate(ALL, CALLS)), legend: 'calls' }],
  }),
]

const errors = [
  series({
    title: 'Errors: injected against real',
    description:
      'Failed calls per second, of all methods, by who made them fail. Real errors are those of the upstream and of Squall itself.',
    unit: 'reqps',
    stack: true,
    queries: [
      {
        expr: orZero(rate('squall_errors_total', `${TOOL}, origin=~"injected|injected_elsewhere"`)),
        legend: 'injected',
        role: 'injected',
      },
      {
        expr: orZero(rate('squall_errors_total', `${TOOL}, origin!~"injected|injected_elsewhere"`)),
        legend: 'real',
        role: 'real',
      },
    ],
  }),
  series({
    title: 'Errors by tool: injected against real',
    description:
      'Failed calls per second by tool and by who made them fail: shades of one colour for injected errors, of another for real ones.',
    unit: 'reqps',
    stack: true,
    queries: [
      {
        expr: rate('squall_errors_total', `${TOOL}, origin=~"injected|injected_elsewhere"`, 'tool'),
        legend: 'injected: {{tool}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: rate('squall_errors_total', `${TOOL}, origin!~"injected|injected_elsewhere"`, 'tool'),
        legend: 'real: {{tool}}',
        role: 'real',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Faults by rule',
    description: 'Faults that took effect, per second, by the rule and the fault that it is.',
    unit: 'ops',
    stack: true,
    queries: [
      {
        expr: rate('squall_faults_injected_total', FAULTS, 'rule, fault'),
        legend: 'injected: {{rule}}/{{fault}}',
        role: 'injected',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Errors by kind: injected against real',
    description:
      'Failed calls per second by how they failed. Errors of Squall itself count as real here.',
    unit: 'reqps',
    stack: true,
    queries: [
      {
        expr: rate('squall_errors_total', `${TOOL}, origin=~"injected|injected_elsewhere"`, 'kind'),
        legend: 'injected: {{kind}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: rate('squall_errors_total', `${TOOL}, origin!~"injected|injected_elsewhere"`, 'kind'),
        legend: 'real: {{kind}}',
        role: 'real',
        shades: true,
      },
    ],
  }),
]

/** Shows the origin of errors, and the effect of faults on the tools. */
export function overview() {
  return dashboard({
    uid: 'squall-overview',
    title: 'Squall / Overview',
    description: 'Injected against real: errors, latency, availability of tools, and who is armed.',
    variables: ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod', 'tool', 'rule'],
    annotations: [
      markers({
        name: 'Rules became active',
        colour: COLOURS.injected,
        expr: `squall_rules_last_reload_timestamp_seconds{${POD}} * 1000
          and on (cluster, job, instance) squall_rules_last_reload_success{${POD}} == 1`,
        title: 'Rules reloaded',
        text: '{{pod}} {{instance}}',
      }),
    ],
    rows: [
      { title: 'Now', panels: now },
      { title: 'Whose errors', panels: errors },
      { title: 'Latency', panels: latency },
      { title: 'Tools', panels: tools },
      { title: 'What agents did next', panels: agents },
      { title: 'Dependencies', panels: dependencies },
      { title: 'Who is armed', panels: armed },
    ],
  })
}
