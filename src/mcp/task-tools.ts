import { LruMap } from '../base/lru-map.ts'
import { fieldsOf, isRecord } from '../base/values.ts'
import type { Message } from './json-rpc.ts'
import type { PostedMessages } from './classify.ts'
import type { Call, RequestCall } from './call.ts'
import { TASK_NOTIFICATIONS } from './known-methods.ts'

/** Requests about one task. */
export const TASK_METHODS: readonly string[] = [
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
]

/** The member of `_meta` that names the task to which a message belongs. */
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/**
 * Returns true for a response that holds the result of a tool, which one about an unfinished task
 * does not.
 */
export function hasToolResult({ method }: Call, message: Message): boolean {
  if (message.kind !== 'result') return false
  if (method === 'tools/call') return createdTask(message.result) === undefined
  if (method === 'tasks/result') return true
  return method === 'tasks/get' && isRecord(fieldsOf(message.result)['result'])
}

/**
 * Returns the tool, prompt or resource by which rules match a call. A request about a task and a
 * response have the tool of another call.
 */
export function matchedName({ method, kind, name, tool }: Call): string | undefined {
  return kind === 'response' || method.startsWith('tasks/') ? tool : name
}

/** The most tasks that are remembered; the least recently used ones go first. */
const MAX_TASKS = 10_000
/** Longer ids and names are not remembered, because the table bounds tasks and not bytes. */
const MAX_LENGTH = 256

/** Remembers the tools whose calls began tasks. */
export class TaskTools {
  readonly #tools = new LruMap<{ readonly tool: string; readonly hash: number | undefined }>(
    MAX_TASKS,
  )

  /** Learns the task that a response to a tool call creates, if any. */
  learn(session: string, { method, name, hash }: Call, message: Message): void {
    if (method !== 'tools/call' || name === undefined || message.kind !== 'result') return
    const id = createdTask(message.result)
    if (id === undefined || name.length > MAX_LENGTH) return
    const key = keyOf(session, id)
    if (key !== undefined) this.#tools.set(key, { tool: name, hash })
  }

  /**
   * Returns the tool that began the task of a message of the server, if known: of a notification
   * about its status, or of a message that belongs to it.
   */
  toolOf(session: string, method: string, params: unknown): string | undefined {
    if (this.#tools.size === 0) return undefined
    const taskId = taskOf(method, params)
    const key = typeof taskId === 'string' ? keyOf(session, taskId) : undefined
    return key === undefined ? undefined : this.#tools.get(key)?.tool
  }

  /** Returns the posted messages; requests about a task with the tool that began it. */
  named(posted: PostedMessages, session: string): PostedMessages {
    if (this.#tools.size === 0 || !posted.calls.some(isAboutTask)) return posted
    const calls = posted.calls.map((call): RequestCall => {
      const key = isAboutTask(call) ? keyOf(session, call.name ?? '') : undefined
      return key === undefined ? call : { ...call, ...this.#tools.get(key) }
    })
    return { ...posted, calls }
  }
}

/** Returns the id of the task in a result, which protocol version 2026-07-28 has at the top. */
function createdTask(result: unknown): string | undefined {
  const { task, resultType, taskId } = fieldsOf(result)
  const id = isRecord(task) ? task['taskId'] : resultType === 'task' ? taskId : undefined
  return typeof id === 'string' ? id : undefined
}

/** Returns the id of the task that a message of the server is about, or belongs to. */
function taskOf(method: string, params: unknown): unknown {
  const { taskId, _meta: meta } = fieldsOf(params)
  if (TASK_NOTIFICATIONS.includes(method)) return taskId
  return fieldsOf(fieldsOf(meta)[RELATED_TASK])['taskId']
}

/** Returns true for a request about a task, and for a message of the server that belongs to one. */
export function isOfTask({ method, from, params }: Call): boolean {
  if (from === undefined) return TASK_METHODS.includes(method)
  return TASK_NOTIFICATIONS.includes(method) || taskOf(method, params) !== undefined
}

function isAboutTask({ method, name }: Call): boolean {
  return name !== undefined && TASK_METHODS.includes(method)
}

function keyOf(session: string, id: string): string | undefined {
  const key = `${session}\n${id}`
  return id.length > MAX_LENGTH || key.length > 4 * MAX_LENGTH ? undefined : key
}
