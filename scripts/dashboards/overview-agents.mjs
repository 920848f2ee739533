import { increase, rate, share } from './expressions.mjs'
import { series } from './panel.mjs'
import { POD, TOOL } from './variables.mjs'

const TASKS = 'squall_tasks_total'

/** The panels of agents, which are empty without `--tasks`. */
export const agents = [
  series({
    title: 'What agents did after faults and errors',
    description:
      'Verdicts per second, with squall run --tasks. A duplicate execution is a call that the upstream executed twice.',
    unit: 'ops',
    stack: true,
    queries: [
      {
        expr: rate('squall_after_fault_total', TOOL, 'verdict'),
        legend: '{{verdict}}',
        role: 'client',
        shades: true,
      },
      {
        expr: rate('squall_task_duplicate_executions_total', `${TOOL}, idempotent="not_declared"`),
        legend: 'executed twice, not idempotent',
        role: 'app',
      },
    ],
  }),
  series({
    title: 'Tasks of agents',
    description:
      'The share of ended tasks that failed, and retries and wasted calls for each call. A task fails with its last call.',
    unit: 'percentunit',
    queries: [
      {
        expr: share(increase(TASKS, `${POD}, result="failed"`), increase(TASKS, POD)),
        legend: 'tasks that failed',
        role: 'app',
      },
      {
        expr: share(
          increase('squall_task_retries_total', POD),
          increase('squall_task_calls_total', POD),
        ),
        legend: 'retries',
        role: 'client',
      },
      {
        expr: share(
          increase('squall_task_wasted_calls_total', POD),
          increase('squall_task_calls_total', POD),
        ),
        legend: 'wasted calls',
        role: 'good',
      },
    ],
  }),
  series({
    title: 'Open tasks',
    description: 'Tasks with a call within --task-window.',
    unit: 'short',
    size: [24, 6],
    queries: [{ expr: `sum(squall_tasks_open{${POD}})`, legend: 'tasks', role: 'client' }],
  }),
]
