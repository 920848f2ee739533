import { LruMap } from '../base/lru-map.ts'
import { isRecord } from '../base/values.ts'
import type { Message } from './json-rpc.ts'
import type { PostedMessages } from './classify.ts'
import type { Call, RequestCall } from './call.ts'

/** Requests about one task. */
export const TASK_METHODS: readonly string[] = [
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
]

/** The notification by which a server reports the status of a task. */
export const TASK_STATUS = 'notifications/tasks/status'

/** Returns the tool, prompt or resource by which rules match a call; a request about a task has no other name. */
export function matchedName(call: Call): string | undefined {
  return call.method.startsWith('tasks/') ? call.tool : call.name
}

/** The most tasks that are remembered; the least recently used ones go first. */
const MAX_TASKS = 10_000
/** Longer ids and names are not remembered, because the table bounds tasks and not bytes. */
const MAX_LENGTH = 256

/** Remembers the tools whose calls began tasks. */
export class TaskTools {
  readonly #tools = new LruMap<string>(MAX_TASKS)

  /** Learns the task that a response to a tool call creates, if any. */
  learn(session: string, { method, name }: Call, message: Message): void {
    if (method !== 'tools/call' || name === undefined || message.kind !== 'result') return
    const id = createdTask(message.result)
    if (id === undefined || name.length > MAX_LENGTH) return
    const key = keyOf(session, id)
    if (key !== undefined) this.#tools.set(key, name)
  }

  /** Returns the tool that began the task of a `notifications/tasks/status`, if known. */
  notified(session: string, method: string, params: unknown): string | undefined {
    if (method !== TASK_STATUS || !isRecord(params)) return undefined
    const { taskId } = params
    const key = typeof taskId === 'string' ? keyOf(session, taskId) : undefined
    return key === undefined ? undefined : this.#tools.get(key)
  }

  /** Returns the posted messages; requests about a task with the tool that began it. */
  named(posted: PostedMessages, session: string): PostedMessages {
    if (this.#tools.size === 0 || !posted.calls.some(isAboutTask)) return posted
    const calls = posted.calls.map((call): RequestCall => {
      const key = isAboutTask(call) ? keyOf(session, call.name ?? '') : undefined
      const tool = key === undefined ? undefined : this.#tools.get(key)
      return tool === undefined ? call : { ...call, tool }
    })
    return { ...posted, calls }
  }
}

/** Returns the id of the task in a result, which protocol version 2026-07-28 has at the top. */
function createdTask(result: unknown): string | undefined {
  if (!isRecord(result)) return undefined
  const { task, resultType, taskId } = result
  const id = isRecord(task) ? task['taskId'] : resultType === 'task' ? taskId : undefined
  return typeof id === 'string' ? id : undefined
}

function isAboutTask({ method, name }: Call): boolean {
  return name !== undefined && TASK_METHODS.includes(method)
}

function keyOf(session: string, id: string): string | undefined {
  const key = `${session}\n${id}`
  return id.length > MAX_LENGTH || key.length > 4 * MAX_LENGTH ? undefined : key
}
