import { ARMED_COLOURS, lessIsBetter, MORE_IS_BETTER } from './colours.mjs'
import {
  availability,
  CALLS,
  count,
  increase,
  INJECTED_ERRORS,
  mean,
  OWN_CALLS,
  quantile,
  rate,
  REAL_ERRORS,
  RESPONDED,
  share,
  untouched,
} from './expressions.mjs'
import { series, states, table } from './panel.mjs'
import { POD, RULE, TOOL, TOOL_OR_ALL } from './variables.mjs'

const ALL = 'squall_calls_total'
const CALL = 'squall_call_duration_seconds'
const APP = 'squall_upstream_duration_seconds'
const ARMED = [
  { type: 'value', options: { 0: { index: 0, text: 'disarmed' }, 1: { index: 1, text: 'armed' } } },
]
const SIDECAR = '{{namespace}}/{{pod}} {{instance}}'

/** Real latency against injected delay. */
export const latency = [
  series({
    title: 'Latency: client, upstream and injected delay (p95)',
    description:
      '95th percentile of client latency, upstream latency and intended fault delays. The delay series covers the selected rules, not single tools.',
    unit: 's',
    thresholds: lessIsBetter(5, 10),
    queries: [
      { expr: quantile(0.95, CALL, TOOL_OR_ALL), legend: 'client', role: 'client' },
      { expr: quantile(0.95, APP, TOOL_OR_ALL), legend: 'upstream', role: 'app' },
      {
        expr: quantile(0.95, 'squall_injected_delay_seconds', RULE),
        legend: 'injected delay',
        role: 'injected',
      },
    ],
  }),
  series({
    title: 'Added latency by tool (mean)',
    description:
      "Mean client latency minus upstream latency: injected delay plus Squall's overhead. Negative if clients did not wait for the upstream.",
    unit: 's',
    signed: true,
    thresholds: lessIsBetter(1, 5),
    queries: [
      {
        expr: `(
          ${rate(`${CALL}_sum`, TOOL_OR_ALL, 'tool')}
          - (${rate(`${APP}_sum`, TOOL_OR_ALL, 'tool')} or 0 * ${rate(`${CALL}_sum`, TOOL_OR_ALL, 'tool')})
        ) / (${rate(`${CALL}_count`, TOOL_OR_ALL, 'tool')} > 0)`,
        legend: '{{tool}}',
        role: 'client',
        shades: true,
      },
    ],
  }),
]

/** The panels of the tools. */
export const tools = [
  table({
    title: 'Tools',
    description:
      'Per-tool statistics for the selected time range. Responded × untouched is the effective availability. Added latency is client latency minus upstream latency, on average. Canary: calls that contain the canary of a poisoned result.',
    unit: 'short',
    by: ['tool'],
    sortBy: { column: 'Availability', desc: false },
    queries: [
      { column: 'Calls', expr: count(ALL, CALLS, 'tool'), decimals: 0 },
      {
        column: 'Responded',
        expr: share(increase(ALL, RESPONDED, 'tool'), increase(ALL, CALLS, 'tool')),
        unit: 'percentunit',
      },
      {
        column: 'Untouched',
        expr: untouched('tool', '$__range'),
        unit: 'percentunit',
      },
      {
        column: 'Availability',
        expr: availability('tool', '$__range'),
        unit: 'percentunit',
        thresholds: MORE_IS_BETTER,
      },
      {
        column: 'Injected errors',
        expr: share(increase(ALL, INJECTED_ERRORS, 'tool'), increase(ALL, CALLS, 'tool')),
        unit: 'percentunit',
        role: 'injected',
      },
      {
        column: 'Real errors',
        expr: share(increase(ALL, REAL_ERRORS, 'tool'), increase(ALL, OWN_CALLS, 'tool')),
        unit: 'percentunit',
        role: 'real',
      },
      { column: 'Client, mean', expr: mean(CALL, TOOL_OR_ALL, 'tool', '$__range'), unit: 's' },
      { column: 'Upstream, mean', expr: mean(APP, TOOL_OR_ALL, 'tool', '$__range'), unit: 's' },
      {
        column: 'Canary',
        expr: `${count('squall_canary_calls_total', TOOL, 'tool')} or 0 * ${increase(ALL, CALLS, 'tool')}`,
        decimals: 0,
      },
    ],
  }),
  series({
    title: 'Result size by tool (p95)',
    description:
      '95th percentile of the size of tool results that clients receive. Large results fill the context window of agents.',
    unit: 'bytes',
    size: [24, 8],
    queries: [
      {
        expr: quantile(0.95, 'squall_result_bytes', TOOL_OR_ALL, 'tool'),
        legend: '{{tool}}',
        role: 'client',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Effective availability by tool',
    description: 'Share of calls that ended ok and unchanged, by tool.',
    unit: 'percentunit',
    max: 1,
    line: true,
    extreme: 'min',
    thresholds: MORE_IS_BETTER,
    size: [24, 8],
    queries: [
      {
        expr: availability('tool'),
        legend: '{{tool}}',
        role: 'good',
        shades: true,
      },
    ],
  }),
]

/** The panels of the sidecars that may inject faults. */
export const armed = [
  states({
    title: 'Armed',
    description: 'Whether each sidecar is armed. An armed sidecar without rules injects no faults.',
    unit: 'short',
    thresholds: ARMED_COLOURS,
    mappings: ARMED,
    queries: [
      {
        expr: `max by (cluster, namespace, pod, instance) (squall_armed{${POD}})`,
        legend: SIDECAR,
      },
    ],
  }),
  table({
    title: 'Disarm reasons',
    description:
      'Active disarm reasons of each sidecar: the label `reason` of `squall_disarmed_reason`.',
    unit: 'short',
    size: [12, 7],
    by: ['cluster', 'namespace', 'workload', 'pod', 'instance', 'reason'],
    sortBy: { column: 'Disarms', desc: true },
    queries: [
      {
        column: 'Disarms',
        expr: `max by (cluster, namespace, workload, pod, instance, reason) (squall_disarmed_reason{${POD}})`,
        decimals: 0,
        thresholds: [
          { value: null, color: 'transparent' },
          { value: 1, color: 'orange' },
        ],
      },
    ],
  }),
]
