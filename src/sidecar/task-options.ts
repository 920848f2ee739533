import { KEY_KINDS } from '../agents/key-kinds.ts'
import type { AgentWatchOptions } from '../agents/agent-watch.ts'
import { type FlagInput, group, type Values } from '../base/flags/flag.ts'
import { count, duration, elementsOf, many, one, oneOf, toggle } from '../base/flags/kinds.ts'
import { isSecretName } from '../telemetry/redact.ts'
import { invalidValue } from '../base/flags/usage-error.ts'

const HEADER = 'x-task-id'
const WINDOW_MS = 30_000
/** SDKs and frameworks try three times by default. */
const RETRIES = 3
const MAX_META = 256
const kindOf = oneOf(KEY_KINDS)

export const TASK_FLAGS = group('Agent tasks:', {
  tasks: toggle(
    'group calls into tasks, and report what agents do after faults and errors; --tasks=false disables it',
    { default: 'true' },
  ),
  taskBy: many(
    'kinds',
    `comma-separated keys that identify the task of a call, from ${KEY_KINDS.join(', ')}; the first in this order that a call has is used (default: all)`,
    (given) => elementsOf(given, 'write names with commas, such as header,session')?.map(kindOf),
  ),
  taskHeader: one(
    'name',
    `request header that contains the task key (default: ${HEADER})`,
    headerOf,
  ),
  taskMeta: one('key', 'key in _meta that contains the task key', metaOf),
  taskWindow: duration(
    'how long to wait for an agent to react to a fault, and how long a task can go without calls before it ends (default: 30s)',
    { min: 100, max: 3_600_000 },
  ),
  taskRetries: count('number of retries above which an agent is reported as runaway (default: 3)', {
    min: 1,
    max: 1000,
  }),
})

/** Returns the options of tasks; undefined without tasks. */
export function tasksOf(flags: Values<typeof TASK_FLAGS>): AgentWatchOptions | undefined {
  const { tasks, taskBy, taskHeader, taskMeta, taskWindow, taskRetries } = flags
  if (!tasks) return undefined
  return {
    by: KEY_KINDS.filter((kind) => taskBy === undefined || taskBy.includes(kind)),
    header: taskHeader ?? HEADER,
    meta: taskMeta,
    window: taskWindow ?? WINDOW_MS,
    maxRetries: taskRetries ?? RETRIES,
  }
}

function headerOf(given: FlagInput): string {
  if (!/^[-!#$%&'*+.^`|~\w]{1,128}$/.test(given.text)) {
    throw invalidValue(given, 'is not a valid header name', 'write a name such as x-task-id')
  }
  // Keys of tasks are shown.
  if (isSecretName(given.text)) {
    throw invalidValue(given, 'may carry secrets', 'use another header, such as x-task-id')
  }
  return given.text.toLowerCase()
}

function metaOf(given: FlagInput): string {
  if (given.text !== '' && given.text.length <= MAX_META) return given.text
  throw invalidValue(given, 'is not a key', `write 1 to ${MAX_META} characters`)
}
