import { inOnePiece } from '../base/bytes.ts'
import { Chain } from '../base/linked-list.ts'
import { digest } from '../base/digest.ts'
import type { KeyKind } from './key-kinds.ts'
import { Task } from './task.ts'

/** As many as sessions; with more, the least recently used task ends early. */
export const MAX_TASKS = 10_000
/** Longer keys are kept as a digest, because the table bounds tasks and not bytes. */
const MAX_KEY = 256
/** The sessions of one task that are remembered beside its first. */
const MAX_ALIASES = 8

/** The tasks of the sessions of one caller. */
class CallerSessions {
  /** Those that their client did not end. */
  readonly live = new Set<Task>()
  /** Those with an event for which a call that follows may be missing. */
  readonly waiting = new Set<Task>()
}

/** Finds tasks by key, in order of use. */
export class TaskTable {
  readonly #tasks: Readonly<Record<KeyKind, Map<string, Task>>> = {
    header: new Map(),
    meta: new Map(),
    trace: new Map(),
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

  /** Creates a task. `caller` identifies the client of a session, or without one. */
  create(kind: KeyKind, key: string, caller: string, beganAt: number): Task {
    if (this.#used.size >= this.#limit && this.#used.oldest) this.#onFull(this.#used.oldest)
    // A part of a header block would keep the whole block alive.
    const isOfHeader = kind !== 'meta' && kind !== 'client'
    const task = new Task(kind, isOfHeader ? keptKey(key) : bounded(key), caller, beganAt)
    this.#tasks[kind].set(task.key, task)
    this.#used.add(task)
    if (kind === 'session') this.#sessionsFor(caller).live.add(task)
    return task
  }

  use(task: Task, now: number): void {
    task.usedAt = Math.max(task.usedAt, now)
    if (task === this.#used.newest) return
    this.#used.remove(task)
    this.#used.add(task)
  }

  /** Adds a session to a task, which forgets an older one. */
  alias(task: Task, session: string): void {
    const key = keptKey(session)
    if (this.#tasks.session.has(key)) return
    task.aliases.push(key)
    this.#tasks.session.set(key, task)
    if (task.aliases.length > MAX_ALIASES) this.#tasks.session.delete(task.aliases.shift()!)
  }

  /** Takes the end of a session by its client. */
  left(session: string): void {
    const task = this.find('session', session)
    if (task === undefined || task.isLeft) return
    task.isLeft = true
    this.#ofCaller.get(task.caller)?.live.delete(task)
  }

  /** Takes a call of a task whose client had ended a session. */
  returned(task: Task): void {
    task.isLeft = false
    if (task.kind === 'session') this.#sessionsFor(task.caller).live.add(task)
  }

  /** Takes an event of a task that waits for the calls that follow. */
  waits(task: Task): void {
    if (task.kind === 'session') this.#sessionsFor(task.caller).waiting.add(task)
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
    sessions?.live.delete(task)
    if (sessions?.live.size === 0 && sessions.waiting.size === 0) {
      this.#ofCaller.delete(task.caller)
    }
  }

  #sessionsFor(caller: string): CallerSessions {
    const sessions = this.#ofCaller.get(caller) ?? new CallerSessions()
    this.#ofCaller.set(caller, sessions)
    return sessions
  }
}

/** Returns the key of a task in the table. */
function bounded(key: string): string {
  return key.length > MAX_KEY ? digest(key) : key
}

/** Returns a key that is short, and keeps no header block alive. */
export function keptKey(key: string): string {
  return bounded(inOnePiece(key))
}
