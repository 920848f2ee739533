import { inOnePiece } from '../base/bytes.ts'
import { Chain } from '../base/linked-list.ts'
import { digest } from '../base/digest.ts'
import type { KeyKind } from './key-kinds.ts'
import { Task } from './task.ts'

/** As many as sessions; with more, the least recently used task ends early. */
export const MAX_TASKS = 10_000
/** Longer keys are kept as a digest, because the table bounds tasks and not bytes. */
const MAX_KEY = 256
/** The most sessions of one task that are remembered. */
const MAX_ALIASES = 8

/** The tasks of the sessions of one caller. */
class CallerSessions {
  readonly all = new Set<Task>()
  /** Those with an event for which the first call that follows may be missing. */
  readonly waiting = new Set<Task>()
}

/** Finds tasks by key, in order of use. */
export class TaskTable {
  readonly #tasks: Readonly<Record<KeyKind, Map<string, Task>>> = {
    header: new Map(),
    trace: new Map(),
    meta: new Map(),
    session: new Map(),
    client: new Map(),
  }
  /** The tasks with a session as their key, by caller. */
  readonly #ofCaller = new Map<string, CallerSessions>()
  readonly #used = new Chain<Task>()
  readonly #limit: number
  readonly #onFull: (oldest: Task) => void

  /** `onFull` gets the task that makes room, and removes it. */
  constructor(limit: number, onFull: (oldest: Task) => void) {
    this.#limit = limit
    this.#onFull = onFull
  }

  get size(): number {
    return this.#used.size
  }

  /** Returns the tasks, those used last first. */
  *recent(): Iterable<Task> {
    for (let task = this.#used.newest; task !== undefined; task = task.older) yield task
  }

  /** Returns the tasks that were not used since, the oldest first. */
  unusedSince(time: number): readonly Task[] {
    const unused: Task[] = []
    for (let task = this.#used.oldest; task && task.usedAt <= time; task = task.newer) {
      unused.push(task)
    }
    return unused
  }

  find(kind: KeyKind, key: string): Task | undefined {
    return this.#tasks[kind].get(bounded(key))
  }

  /** Creates a task. `caller` identifies the client of a session. */
  create(kind: KeyKind, key: string, caller: string, beganAt: number): Task {
    if (this.#used.size >= this.#limit && this.#used.oldest) this.#onFull(this.#used.oldest)
    // A part of a header block would keep the whole block alive.
    const isOfHeader = kind !== 'meta' && kind !== 'client'
    const task = new Task(kind, bounded(isOfHeader ? inOnePiece(key) : key), caller, beganAt)
    this.#tasks[kind].set(task.key, task)
    this.#used.add(task)
    if (kind === 'session') {
      const sessions = this.#ofCaller.get(caller) ?? new CallerSessions()
      this.#ofCaller.set(caller, sessions)
      sessions.all.add(task)
    }
    return task
  }

  use(task: Task, now: number): void {
    task.usedAt = Math.max(task.usedAt, now)
    if (task === this.#used.newest) return
    this.#used.remove(task)
    this.#used.add(task)
  }

  /** Adds a session to a task. */
  alias(task: Task, session: string): void {
    const key = inOnePiece(bounded(session))
    if (this.#tasks.session.has(key) || task.aliases.length >= MAX_ALIASES) return
    task.aliases.push(key)
    this.#tasks.session.set(key, task)
  }

  /** Takes an event of a task that waits for the first call that follows. */
  waits(task: Task): void {
    if (task.kind === 'session') this.#ofCaller.get(task.caller)?.waiting.add(task)
  }

  /** Returns the tasks of the sessions of a caller; undefined without any. */
  sessionsOf(caller: string): CallerSessions | undefined {
    return this.#ofCaller.get(caller)
  }

  remove(task: Task): void {
    this.#tasks[task.kind].delete(task.key)
    for (const key of task.aliases) this.#tasks.session.delete(key)
    this.#used.remove(task)
    const sessions = this.#ofCaller.get(task.caller)
    sessions?.waiting.delete(task)
    if (sessions?.all.delete(task) === true && sessions.all.size === 0) {
      this.#ofCaller.delete(task.caller)
    }
  }
}

/** Returns the key under which the table knows a task. */
function bounded(key: string): string {
  return key.length > MAX_KEY ? digest(key) : key
}
