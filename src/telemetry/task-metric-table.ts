/** The metrics of tasks, which `METRICS` contains. */
export const TASK_METRICS = [
  {
    name: 'squall_after_fault_total',
    type: 'counter',
    help: 'Verdicts about what agents did after faults and errors: one for each fault that took effect on a call, and one for an error that no fault caused.',
    labels: ['tool', 'fault', 'verdict'],
  },
  {
    name: 'squall_tasks_total',
    type: 'counter',
    help: 'Tasks of agents that ended: failed when their last call failed, else recovered when a fault or an error came before, else ok.',
    labels: ['result'],
  },
  {
    name: 'squall_tasks_open',
    type: 'gauge',
    help: 'Tasks of agents that have not ended.',
    labels: [],
  },
  {
    name: 'squall_task_calls_total',
    type: 'counter',
    help: 'Calls of tasks, with retries and without handshakes, by the key that named the task.',
    labels: ['by'],
  },
  {
    name: 'squall_task_retries_total',
    type: 'counter',
    help: 'Calls of tasks that repeated a failed one with the same arguments.',
    labels: [],
  },
  {
    name: 'squall_task_wasted_calls_total',
    type: 'counter',
    help: 'Retries that failed again, and calls that the upstream executed twice.',
    labels: [],
  },
  {
    name: 'squall_task_duplicate_executions_total',
    type: 'counter',
    help: 'Calls that the upstream executed twice, because the client did not learn of the first execution.',
    labels: ['tool', 'idempotent'],
  },
] as const
