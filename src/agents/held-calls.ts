import { inOnePiece } from '../base/bytes.ts'
import { Chain } from '../base/linked-list.ts'
import { LruMap } from '../base/lru-map.ts'
import type { RequestCall } from '../mcp/call.ts'
import { type Held, OpenTrace, type Step } from './open-trace.ts'
import type { Action } from './task.ts'
import { callerKey, type TaskFacts, type TaskKey, taskKeyOf, type TaskKeys } from './task-key.ts'
import { bounded, type TaskTable } from './task-table.ts'

/** The steps that wait: 10,000 take 8 MB. With more, the oldest does not wait any longer. */
const MAX_STEPS = 10_000
/** The steps that are run at once when a long call ends, in a few milliseconds. */
const MAX_RUN = 1_000
/** The traces and sessions that are remembered. */
const MAX_KNOWN = 10_000
const SHARED = 'shared'
const NO_TIMES: ReadonlyMap<string, number> = new Map()

/**
 * Holds calls while it is open whether further calls share their trace, which then names their
 * task. Until then the other calls of the client wait too: agents that begin a new trace for each
 * call get the verdicts that they get without traces, as each task sees its calls in order.
 */
export class HeldCalls {
  /** The ends among the steps that will get a verdict. */
  events = 0
  readonly #keys: TaskKeys
  readonly #keysAfterTrace: TaskKeys
  readonly #window: number
  readonly #tasks: TaskTable
  readonly #traces = new LruMap<OpenTrace | typeof SHARED>(MAX_KNOWN)
  /** The callers of sessions whose task may not exist yet. */
  readonly #callers = new LruMap<string>(MAX_KNOWN)
  readonly #steps = new Chain<Step>()
  /** The number of steps by caller. */
  readonly #waiting = new Map<string, number>()

  constructor(keys: TaskKeys, window: number, tasks: TaskTable) {
    this.#keys = keys
    this.#keysAfterTrace = { ...keys, by: keys.by.slice(keys.by.indexOf('trace') + 1) }
    this.#window = window
    this.#tasks = tasks
  }

  /**
   * Returns the key of a call that arrives, or its place while the key is not clear; undefined when
   * nothing names its task. Runs the steps of a trace that the call shares.
   */
  enter(call: RequestCall, facts: TaskFacts, now: number): TaskKey | Held | undefined {
    const key = taskKeyOf(this.#keys, call, facts)
    if (key === undefined || key.kind === 'header' || key.kind === 'meta') return key
    if (key.kind !== 'trace') {
      if (this.#steps.size === 0) return key
      const caller = this.#callerOf(key, facts)
      return this.#waiting.has(caller) ? { caller, key: kept(key), trace: undefined } : key
    }
    // No other key is in use.
    if (this.#keysAfterTrace.by.length === 0) return key
    const other = taskKeyOf(this.#keysAfterTrace, call, facts)
    const caller = this.#callerOf(other, facts)
    const id = inOnePiece(`${caller} ${key.key}`)
    const known = this.#traces.get(id)
    if (known === SHARED) return key
    const trace = known ?? new OpenTrace(id, inOnePiece(key.key), this.#window, now)
    if (trace.isSharedBy(call.method)) {
      this.#traces.set(id, SHARED)
      for (const step of trace.steps) if (!step.isRun) this.#run(step, trace.key)
      return key
    }
    if (known === undefined) this.#traces.set(id, trace)
    trace.began()
    return { caller, key: other && kept(other), trace }
  }

  /** Returns the place of the end of a call; undefined when it need not wait. */
  placeOf({ held, task }: Action): Held | undefined {
    if (held !== undefined || this.#steps.size === 0) return held
    const { kind, key, caller } = task
    if (!task.isShared || !this.#waiting.has(caller)) return undefined
    return { caller, key: { kind, key }, trace: undefined }
  }

  /** Returns the caller of a session, where steps of it wait. */
  waitingCaller(session: string): string | undefined {
    if (this.#steps.size === 0) return undefined
    const caller = this.#tasks.find('session', session)?.caller ?? this.#callers.get(session)
    return caller !== undefined && this.#waiting.has(caller) ? caller : undefined
  }

  /** Takes the session that a held call has begun. */
  began(session: string, { caller }: Held): void {
    this.#callers.set(bounded(inOnePiece(session)), caller)
  }

  /** Adds a step, to be run after those of the same caller. */
  add(
    { caller, trace, key }: Partial<Held> & Pick<Held, 'caller'>,
    { at, run }: Pick<Step, 'at' | 'run'>,
    isEvent = false,
  ): void {
    if (this.#steps.size >= MAX_STEPS) this.#runOldest()
    if (key?.kind === 'session') this.#callers.set(key.key, caller)
    const added: Step = {
      caller,
      trace,
      at,
      isEvent,
      isRun: false,
      run,
      newer: undefined,
      older: undefined,
    }
    this.#steps.add(added)
    trace?.steps.push(added)
    this.#waiting.set(caller, (this.#waiting.get(caller) ?? 0) + 1)
    if (isEvent) this.events++
  }

  /** Runs the steps that need not wait any longer; returns the oldest time of others, by caller. */
  release(now: number): ReadonlyMap<string, number> {
    if (this.#steps.size === 0) return NO_TIMES
    const times = new Map<string, number>()
    let left = MAX_RUN
    let step = this.#steps.oldest
    while (step !== undefined && times.size < this.#waiting.size) {
      const { newer, caller, trace, at } = step
      if (!times.has(caller)) {
        if (left === 0 || (trace !== undefined && trace.until > now)) times.set(caller, at)
        else {
          left--
          this.#run(step)
        }
      }
      step = newer
    }
    return times
  }

  #runOldest(): void {
    const { oldest } = this.#steps
    if (oldest === undefined) return
    if (oldest.trace !== undefined) oldest.trace.until = -Infinity
    this.#run(oldest)
  }

  #run(step: Step, key?: TaskKey): void {
    const { caller, trace, isEvent } = step
    this.#steps.remove(step)
    step.isRun = true
    if (key === undefined && trace !== undefined && this.#traces.get(trace.id) === trace)
      this.#traces.delete(trace.id)
    const left = this.#waiting.get(caller)! - 1
    if (left === 0) this.#waiting.delete(caller)
    else this.#waiting.set(caller, left)
    if (isEvent) this.events--
    step.run(key)
  }

  /** Returns what identifies the caller; the calls of a session have the one that began it. */
  #callerOf(named: TaskKey | undefined, { caller }: TaskFacts): string {
    if (named?.kind !== 'session') return callerKey(caller)
    const known = this.#tasks.find('session', named.key)?.caller
    return known ?? this.#callers.get(bounded(named.key)) ?? callerKey(caller)
  }
}

/** Returns a key that does not keep a header block alive. */
function kept({ kind, key }: TaskKey): TaskKey {
  return { kind, key: kind === 'session' ? bounded(inOnePiece(key)) : key }
}
