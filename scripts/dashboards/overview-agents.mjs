import { count, rate, share } from './expressions.mjs'
import { series, table } from './panel.mjs'
import { POD, TOOL, TOOL_OR_ALL } from './variables.mjs'

const AFTER = 'squall_after_fault_total'
const INJECTED = `${TOOL_OR_ALL}, fault!~"real|squall"`

const CALLS = rate('squall_task_calls_total', POD)

const RESULTS = Object.entries({ ok: 'good', recovered: 'app', failed: 'client' }).map(
  ([result, role]) => ({
    expr: rate('squall_tasks_total', `${POD}, result="${result}"`),
    legend: result,
    role,
  }),
)

/** The panels of tasks and verdicts. */
export const agents = [
  series({
    title: 'Verdicts after faults',
    description:
      'Rate of agent verdicts after calls with an injected fault, such as retries, switches to another tool, or giving up.',
    unit: 'ops',
    stack: true,
    queries: [
      {
        expr: rate(AFTER, INJECTED, 'verdict'),
        legend: 'injected: {{verdict}}',
        role: 'injected',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Runaways and duplicate executions',
    description:
      'Rate of runaways (agents that kept retrying without success), and of calls that the upstream executed or may have executed twice, after injected and real errors.',
    unit: 'ops',
    queries: [
      {
        expr: rate(AFTER, `${TOOL}, verdict="runaway"`, 'tool'),
        legend: 'runaway: {{tool}}',
        role: 'client',
        shades: true,
      },
      {
        expr: rate(AFTER, `${TOOL}, verdict="possible_duplicate"`, 'tool'),
        legend: 'possibly executed twice: {{tool}}',
        role: 'plain',
        shades: true,
      },
      {
        expr: rate('squall_task_duplicate_executions_total', TOOL, 'tool, idempotent'),
        legend: 'executed twice: {{tool}} ({{idempotent}})',
        role: 'plain',
        shades: true,
      },
    ],
  }),
  series({
    title: 'Tasks by result',
    description: 'Rate of completed agent tasks by result, and number of open tasks.',
    unit: 'short',
    queries: [
      ...RESULTS,
      { expr: `sum(squall_tasks_open{${POD}})`, legend: 'open', role: 'plain' },
    ],
  }),
  series({
    title: 'Retries and wasted calls',
    description:
      'Share of task calls that were retries, and share that was wasted: failed retries and duplicate executions.',
    unit: 'percentunit',
    queries: [
      {
        expr: share(rate('squall_task_retries_total', POD), CALLS),
        legend: 'retries',
        role: 'app',
      },
      {
        expr: share(rate('squall_task_wasted_calls_total', POD), CALLS),
        legend: 'wasted',
        role: 'client',
      },
    ],
  }),
  table({
    title: 'Verdicts by tool and fault',
    description:
      'Agent verdicts after each fault in the selected time range. `real` and `squall` are errors that no fault caused.',
    unit: 'short',
    by: ['tool', 'fault', 'verdict'],
    sortBy: { column: 'Count', desc: true },
    queries: [
      {
        expr: `${count(AFTER, TOOL_OR_ALL, 'tool, fault, verdict')} > 0`,
        column: 'Count',
        unit: 'short',
        decimals: 0,
      },
    ],
  }),
  table({
    title: 'Verdicts after false values',
    description:
      'Results with a false value from the fault falsify, by agent verdict, in the selected time range.',
    unit: 'short',
    size: [12, 8],
    by: ['rule', 'tool', 'verdict'],
    sortBy: { column: 'results', desc: true },
    queries: [
      {
        expr: `${count('squall_falsified_total', TOOL, 'rule, tool, verdict')} > 0`,
        column: 'results',
        unit: 'short',
        decimals: 0,
      },
    ],
  }),
  table({
    title: 'Calls with false values',
    description:
      'Calls with a false value in their arguments, blocked or not, by tool annotation, in the selected time range.',
    unit: 'short',
    size: [12, 8],
    by: ['tool', 'hint'],
    sortBy: { column: 'calls', desc: true },
    queries: [
      {
        expr: `${count('squall_falsified_used_total', TOOL, 'tool, hint')} > 0`,
        column: 'calls',
        unit: 'short',
        decimals: 0,
      },
    ],
  }),
]
