import type { RequestCall } from '../mcp/call.ts'
import type { Task } from './task.ts'
import { callerKey, type TaskFacts, taskKeyOf, type TaskKeys } from './task-key.ts'
import type { TaskTable } from './task-table.ts'

/** Finds the task to which a call belongs. */
export class TaskFinder {
  readonly #keys: TaskKeys
  readonly #tasks: TaskTable
  readonly #now: () => number
  readonly #onOverlap: (task: Task) => void

  /** `onOverlap` gets each task of which the next call may belong to another one. */
  constructor(
    keys: TaskKeys,
    tasks: TaskTable,
    now: () => number,
    onOverlap: (task: Task) => void,
  ) {
    this.#keys = keys
    this.#tasks = tasks
    this.#now = now
    this.#onOverlap = onOverlap
  }

  /** Returns the task of a call that arrives; undefined when nothing names it. */
  taskOf(call: RequestCall, facts: TaskFacts): Task | undefined {
    const named = taskKeyOf(this.#keys, call, facts)
    const known = named && this.#tasks.find(named.kind, named.key)
    const isNamed = named !== undefined && named.kind !== 'session' && named.kind !== 'client'
    if (!isNamed && call.method === 'initialize') {
      const task = this.#reinitialized(callerKey(facts.caller), known)
      if (task !== undefined) {
        if (facts.session !== '') this.#tasks.alias(task, facts.session)
        return task
      }
    }
    if (known !== undefined || named === undefined) return known
    const { kind, key } = named
    const caller = kind === 'session' ? callerKey(facts.caller) : ''
    return this.#tasks.create(kind, key, caller, this.#now())
  }

  /**
   * Returns the task whose agent begins a new session: one with an event that waits, where no other
   * task of its caller has such an event or an open session. With several, it may be any of them.
   */
  #reinitialized(caller: string, known: Task | undefined): Task | undefined {
    const sessions = this.#tasks.sessionsOf(caller)
    if (sessions === undefined) return undefined
    const { live, waiting } = sessions
    let others = live.size - (known !== undefined && live.has(known) ? 1 : 0)
    const candidates: Task[] = []
    for (const task of waiting) {
      if (task === known) continue
      if (task.undecided.length === 0) waiting.delete(task)
      else {
        candidates.push(task)
        if (!live.has(task)) others++
      }
    }
    if (candidates.length === 1 && others === 1) return candidates[0]
    for (const task of candidates) {
      // Each is looked at once for an event, however many sessions a caller has.
      waiting.delete(task)
      if (task.undecided.some((event) => event.isOpen)) this.#onOverlap(task)
    }
    return undefined
  }
}
