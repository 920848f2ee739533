import type { ClientInfo } from '../mcp/call.ts'
import type { Task } from './task.ts'
import { callerKey, type Sender, type TaskKey } from './task-key.ts'
import type { TaskTable } from './task-table.ts'

/** The waiting tasks of other clients that a new session passes over, each time. */
const MAX_FOREIGN = 100

/** Finds the task to which a call belongs. */
export class TaskFinder {
  readonly #tasks: TaskTable
  readonly #dateOf: (at: number) => number
  readonly #onOverlap: (task: Task) => void

  /** `onOverlap` gets each task of which the next call may belong to another one. */
  constructor(tasks: TaskTable, dateOf: (at: number) => number, onOverlap: (task: Task) => void) {
    this.#tasks = tasks
    this.#dateOf = dateOf
    this.#onOverlap = onOverlap
  }

  /** Returns the task of a call that arrived at `at`; undefined when nothing names it. */
  taskOf(named: TaskKey | undefined, method: string, sender: Sender, at: number): Task | undefined {
    const known = named && this.#tasks.find(named.kind, named.key)
    const isNamed = named !== undefined && named.kind !== 'session' && named.kind !== 'client'
    if (!isNamed && method === 'initialize') {
      const task = this.#reinitialized(sender, known)
      if (task !== undefined) {
        if (sender.session !== '') this.#tasks.alias(task, sender.session)
        return task
      }
    }
    if (known !== undefined || named === undefined) return known
    const { kind, key } = named
    const caller = isNamed ? '' : callerKey(sender.caller)
    return this.#tasks.create(kind, key, caller, this.#dateOf(at))
  }

  /**
   * Returns the task whose agent begins a new session: one with an event that waits, where no other
   * task of its caller has such an event or an open session. With several, it may be any of them;
   * those of clients with another name are left out.
   */
  #reinitialized({ caller, client }: Sender, known: Task | undefined): Task | undefined {
    const sessions = this.#tasks.sessionsOf(callerKey(caller))
    if (sessions === undefined) return undefined
    const { live, waiting } = sessions
    let others = live.size - (known !== undefined && live.has(known) ? 1 : 0)
    const candidates: Task[] = []
    let foreign = 0
    for (const task of waiting) {
      if (task === known) continue
      if (task.undecided.length === 0) waiting.delete(task)
      else if (foreign < MAX_FOREIGN && isOfOther(task, client)) foreign++
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

/** Returns true for a task in which every event that waits is of a client with another name. */
function isOfOther({ undecided }: Task, client: ClientInfo | undefined): boolean {
  if (client === undefined) return false
  return undecided.every(({ facts }) => facts.client && facts.client.name !== client.name)
}
