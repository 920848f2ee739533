import { ARMED_COLOURS, COLOURS, MORE_IS_BETTER } from './colours.mjs'
import { dashboard, markers } from './dashboard.mjs'
import {
  availability,
  CALLS,
  count,
  FAILED_INJECTED,
  FAILED_REAL,
  FAULTS,
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
import { POD } from './variables.mjs'

const ALL = 'squall_calls_total'
function sharesOver(range, part, whole) {
  return share(rate(ALL, part, '', range), rate(ALL, whole, '', range))
}

const now = [
  stat({
    title: 'Effective tool availability',
    description:
      'Share of calls in the time range that ended ok and unchanged: responded ÷ calls × untouched ÷ responded. Exact if no two faults act on one call.',
    unit: 'percentunit',
    decimals: 2,
    thresholds: MORE_IS_BETTER,
    queries: [{ expr: availability('', '$__range'), legend: 'availability' }],
    instant: true,
  }),
  stat({
    title: 'Injected errors',
    description: 'Share of calls that failed because of a fault, in the selected time range.',
    unit: 'percentunit',
    decimals: 2,
    role: 'injected',
    queries: [{ expr: sharesOver('$__range', INJECTED_ERRORS, CALLS), legend: 'injected' }],
    instant: true,
  }),
  stat({
    title: 'Real errors',
    description:
      'Share of calls that failed with a real error, from the upstream or Squall itself, in the selected time range. Calls that a fault ended are excluded.',
    unit: 'percentunit',
    decimals: 2,
    role: 'real',
    queries: [{ expr: sharesOver('$__range', REAL_ERRORS, OWN_CALLS), legend: 'real' }],
    instant: true,
  }),
  stat({
    title: 'Faults injected',
    description:
      'Injected faults in the selected time range, counted once per fault, rule and call.',
    unit: 'short',
    decimals: 0,
    role: 'injected',
    queries: [{ expr: orZero(count('squall_faults_injected_total', FAULTS)), legend: 'injected' }],
    instant: true,
  }),
  stat({
    title: 'Armed sidecars with rules',
    description: 'Sidecars that can inject faults now: armed, with at least one active rule.',
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
    description: 'Completed tool calls per second, excluding cancelled calls.',
    unit: 'reqps',
    queries: [{ expr: orZero(rate(ALL, CALLS)), legend: 'calls' }],
  }),
]

const errors = [
  series({
    title: 'Errors: injected and real',
    description:
      'Rate of failed calls of all methods, by origin. Real errors come from the upstream or from Squall itself.',
    unit: 'reqps',
    stack: true,
    queries: [
      {
        expr: orZero(rate(ALL, FAILED_INJECTED)),
        legend: 'injected',
        role: 'injected',
      },
      {
        expr: orZero(rate(ALL, FAILED_REAL)),
        legend: 'real',
        role: 'real',
      },
    ],
  }),
  series({
    title: 'Errors by tool: injected and real',
    description:
      'Rate of failed calls, by tool and origin. Injected and real errors have different shades.',
    unit: 'reqps',
    stack: true,
    queries: [
      {
        expr: rate(ALL, FAILED_INJECTED, 'tool'),
        legend: 'injected: {{tool}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: rate(ALL, FAILED_REAL, 'tool'),
        legend: 'real: {{tool}}',
        role: 'real',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Faults by rule',
    description: 'Rate of injected faults, by rule and fault.',
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
    title: 'Errors by kind: injected and real',
    description: 'Rate of failed calls by outcome. Errors of Squall itself count as real.',
    unit: 'reqps',
    stack: true,
    queries: [
      {
        expr: rate(ALL, FAILED_INJECTED, 'outcome'),
        legend: 'injected: {{outcome}}',
        role: 'injected',
        shades: true,
      },
      {
        expr: rate(ALL, FAILED_REAL, 'outcome'),
        legend: 'real: {{outcome}}',
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
    description: 'Injected and real errors, latency, availability of tools, and armed sidecars.',
    variables: ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod', 'tool', 'rule'],
    annotations: [
      markers({
        name: 'Rules reloaded',
        colour: COLOURS.injected,
        expr: `squall_rules_last_reload_timestamp_seconds{${POD}} * 1000
          and on (cluster, job, instance) squall_rules_last_reload_success{${POD}} == 1`,
        title: 'Rules reloaded',
        text: '{{pod}} {{instance}}',
      }),
    ],
    rows: [
      { title: 'Now', panels: now },
      { title: 'Errors', panels: errors },
      { title: 'Latency', panels: latency },
      { title: 'Tools', panels: tools },
      { title: 'Agent behaviour', panels: agents },
      { title: 'Dependencies', panels: dependencies },
      { title: 'Armed sidecars', panels: armed },
    ],
  })
}
