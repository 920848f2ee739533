import { inOnePiece } from '../base/bytes.ts'
import { LruMap } from '../base/lru-map.ts'
import type { RequestCall } from '../mcp/call.ts'
import { type Held, OpenTrace, type Step } from './open-trace.ts'
import type { Action } from './task.ts'
import * as keys from './task-key.ts'
import { keptKey, type TaskTable } from './task-table.ts'

/** The steps that wait: 10,000 take 8 MB. With more, an old one does not wait any longer. */
const MAX_STEPS = 10_000
/** The steps of a client that are run at once, in a few milliseconds. */
const MAX_RUN = 1_000
/** The traces and sessions that are remembered. */
const MAX_KNOWN = 10_000

/**
 * Holds calls while it is open whether further calls share their trace, which then names their
 * task. Until then the other calls of the client wait too: agents that begin a new trace for each
 * call get the verdicts that they get without traces, as each task sees its calls in order.
 */
export class HeldCalls {
  /** The ends among the steps that will get a verdict. */
  events = 0
  readonly #keys: keys.TaskKeys
  readonly #keysAfterTrace: keys.TaskKeys
  readonly #window: number
  readonly #tasks: TaskTable
  readonly #traces = new LruMap<OpenTrace>(MAX_KNOWN)
  /** The callers of sessions whose task may not exist yet. */
  readonly #callers = new LruMap<string>(MAX_KNOWN)
  /** The steps by caller, in their order. */
  readonly #queues = new Map<string, Step[]>()
  #size = 0

  constructor(used: keys.TaskKeys, window: number, tasks: TaskTable) {
    this.#keys = used
    this.#keysAfterTrace = { ...used, by: used.by.slice(used.by.indexOf('trace') + 1) }
    this.#window = window
    this.#tasks = tasks
  }

  /**
   * Returns the key of a call that arrives, or its place while the key is not clear; undefined when
   * nothing names its task. Runs the steps of a trace that the call shares.
   */
  enter(call: RequestCall, facts: keys.TaskFacts, now: number): keys.TaskKey | Held | undefined {
    const key = keys.taskKeyOf(this.#keys, call, facts)
    if (key === undefined || key.kind === 'header' || key.kind === 'meta') return key
    const isTraced = key.kind === 'trace'
    if (!isTraced && this.#queues.size === 0) return key
    const other = isTraced ? keys.taskKeyOf(this.#keysAfterTrace, call, facts) : key
    if (other === undefined) {
      const bySession = this.#keysAfterTrace.by.length > 0
      // A handshake may be of the session that it replaces.
      return bySession && call.method === 'initialize' ? undefined : key
    }
    const known = other.kind === 'session' ? this.callerOf(other.key) : undefined
    const caller = known ?? keys.callerKey(facts.caller)
    const trace = isTraced ? this.#traceOf(`${caller} ${key.key}`, now) : undefined
    if (trace?.isSharedBy(call.method) === true) {
      const steps = trace.steps.splice(0)
      if (steps.length > 0) {
        const ofTrace = { kind: key.kind, key: inOnePiece(key.key) }
        for (const step of steps) this.#run(step, ofTrace)
      }
      return key
    }
    if (trace === undefined && !this.#queues.has(caller)) return key
    const session = keptKey(facts.session)
    const kept = other.kind === 'session' ? { kind: other.kind, key: session } : other
    const client = call.method === 'initialize' ? facts.client : undefined
    return { caller, session, agent: keys.clientOfHeaders(facts), client, key: kept, trace }
  }

  /** Returns the place of the end of a call; undefined when it need not wait. */
  placeOf({ held, task }: Action): Held | undefined {
    return held ?? (task.isShared ? this.queueOf(task.caller) : undefined)
  }

  /** Returns the place behind the steps of a caller; undefined without any. */
  queueOf(caller: string | undefined): Held | undefined {
    return caller !== undefined && this.#queues.has(caller) ? { caller, session: '' } : undefined
  }

  /** Returns the key of the caller that began a session. */
  callerOf(session: string): string | undefined {
    return this.#tasks.find('session', session)?.caller ?? this.#callers.get(session)
  }

  /** Runs a step behind those of the same caller; at once without a place. */
  add(place: Held | undefined, at: number, run: Step['run'], isEvent = false): void {
    if (place === undefined) return run()
    const { caller, session, trace } = place
    if (this.#size >= MAX_STEPS) this.#giveUpOldest()
    if (session !== '') this.#callers.set(session, caller)
    const step = { trace, at, isEvent, run, isRun: false }
    const queue = this.#queues.get(caller)
    if (queue === undefined) this.#queues.set(caller, [step])
    else queue.push(step)
    trace?.steps.push(step)
    this.#size++
    if (isEvent) this.events++
  }

  /** Returns the time up to which the calls of a caller are known; Infinity for all of them. */
  knownUntil(caller: string): number {
    return this.#queues.get(caller)?.[0]?.at ?? Infinity
  }

  /** Runs the steps that need not wait any longer. */
  release(now: number): void {
    for (const [caller, queue] of this.#queues) {
      const end = queue.findIndex(
        ({ trace, isRun }) => !isRun && trace !== undefined && trace.until > now,
      )
      this.#runFirst(caller, queue, Math.min(end < 0 ? queue.length : end, MAX_RUN))
    }
  }

  #giveUpOldest(): void {
    const [[caller, queue] = ['', []]] = this.#queues
    const trace = queue[0]?.trace
    if (trace !== undefined) trace.until = -Infinity
    this.#runFirst(caller, queue, 1)
  }

  #runFirst(caller: string, queue: Step[], count: number): void {
    for (const step of queue.splice(0, count)) {
      this.#size--
      this.#run(step)
    }
    if (queue.length === 0) this.#queues.delete(caller)
  }

  #run(step: Step, key?: keys.TaskKey): void {
    const { trace, isEvent, isRun, run } = step
    if (isRun) return
    step.isRun = true
    if (key === undefined && trace !== undefined && this.#traces.get(trace.id) === trace)
      this.#traces.delete(trace.id)
    if (isEvent) this.events--
    run(key)
  }

  #traceOf(name: string, now: number): OpenTrace {
    const id = inOnePiece(name)
    let trace = this.#traces.get(id)
    if (trace === undefined) this.#traces.set(id, (trace = new OpenTrace(id, this.#window, now)))
    return trace
  }
}
