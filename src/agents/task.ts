import { type ActionFacts, callKey, type Execution } from './action.ts'
import type { ClientInfo, Outcome } from '../mcp/call.ts'
import type { FaultEvent } from './fault-event.ts'
import type { KeyKind } from './key-kinds.ts'
import type { Held } from './open-trace.ts'
import type { Verdict } from './verdicts.ts'

/** An event with its verdict. */
export interface Decided {
  readonly event: FaultEvent
  readonly verdict: Verdict
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** One call of an agent in its task, from its arrival to its end. */
export interface Action extends ActionFacts {
  isAgain: boolean
  /** `UNFILED` while the call is held. */
  task: Task
  /** The place of a call whose task is not clear yet. */
  held: Held | undefined
  /** The number of the call in its task. */
  seq: number
  /** The other calls of the task that were open at the arrival. */
  others: number
  /** True for calls that programs make beside the work of an agent. */
  readonly isPassive: boolean
  hasEnded: boolean
  isRetry: boolean
  /** Once it has ended: true for a correct response. */
  isOk: boolean
  /** Once it has ended: its execution by the upstream. */
  execution: Execution
}

/** The outcomes of calls that their client left. */
export const LEFT: ReadonlySet<Outcome> = new Set(['timeout', 'abandoned', 'cancelled'])
/** A client leaves a call by one connection, and may make the next by another, which is read first. */
const READ_EARLY_MS = 50

/**
 * Returns the last call after one that its client left at `leftAt`, when it arrived before that was
 * known; undefined if there is none.
 */
export function earlyReaction(
  { task, seq }: Action,
  outcome: Outcome,
  leftAt: number,
): Action | undefined {
  const { latest } = task
  const isAlone = latest === undefined || latest.seq === seq
  if (isAlone || task.isShared) return undefined
  return leftAt - latest.receivedAt < (LEFT.has(outcome) ? READ_EARLY_MS : 0) ? latest : undefined
}

/** The most failed calls by which a retry is recognized, unless more wait for a verdict. */
const MAX_FAILED = 32

/** Counts failed calls by key. */
class FailedCalls {
  /** Undefined until a call fails: most tasks have none. */
  #counts: Map<number, number> | undefined

  /** Returns true for a call that repeats one of these. */
  isRepeatedBy(action: ActionFacts): boolean {
    return this.#counts !== undefined && this.#counts.size > 0 && this.#counts.has(callKey(action))
  }

  add(key: number, waiting: number): void {
    const counts = (this.#counts ??= new Map<number, number>())
    counts.set(key, (counts.get(key) ?? 0) + 1)
    const most = Math.max(MAX_FAILED, waiting + 1)
    while (counts.size > most) counts.delete(counts.keys().next().value!)
  }

  /** Takes a retry that succeeded. */
  succeeded(key: number): void {
    const left = (this.#counts?.get(key) ?? 1) - 1
    if (left === 0) this.#counts?.delete(key)
    else this.#counts?.set(key, left)
  }
}

/** Remembers what findings need about a task beside its events. */
class Conduct {
  /** The client that it named last. */
  client: ClientInfo | undefined
  /** The sessions that were begun after errors since the last success. */
  restarts = 0
  /** As many of them as a finding has counted. */
  shownRestarts = 0

  /** Takes the begin of a session after an error. */
  restarted(after: Action | undefined): void {
    // Clients ask for newer versions of the protocol first.
    if (after?.method !== 'server/discover') this.restarts++
  }
}

/** Counts what a task has cost. */
class TaskSums {
  /** Calls without retries and handshakes. */
  calls = 0
  retries = 0
  wasted = 0
  /** The labels of the tools that were called, up to a bound. */
  readonly tools: string[] = []
  /** The number of events, decided or not. */
  events = 0

  /** True for a task that shows nothing of an agent, as after a handshake that went well. */
  get isEmpty(): boolean {
    return this.calls + this.events === 0
  }
}

/** The keys of a task, and its place in a table. */
class KeyedTask {
  readonly kind: KeyKind
  readonly key: string
  /** Further keys: the sessions that the same agent began after the first. */
  readonly aliases: string[] = []
  /** Identifies the client, where the session or the client is the key. */
  readonly caller: string
  /** Milliseconds since the epoch. */
  readonly beganAt: number
  /** The last time at which a call began or ended, by the steady clock. */
  usedAt = 0
  isEnded = false
  /** True when its client has ended a session, and made no call since. */
  isLeft = false
  newer: Task | undefined
  older: Task | undefined

  constructor(kind: KeyKind, key: string, caller: string, beganAt: number) {
    this.kind = kind
    this.key = key
    this.caller = caller
    this.beganAt = beganAt
  }

  /** True when calls that overlap may belong to different tasks. */
  get isShared(): boolean {
    return this.kind === 'session' || this.kind === 'client'
  }
}

/** The calls of one user intent, as far as its key distinguishes them from others. */
export class Task extends KeyedTask {
  /** The number of calls so far, without passive ones. */
  seq = 0
  /** The last of them. */
  latest: Action | undefined
  /** Those among them in flight. */
  open = 0
  /** The number of the last call among those that ended, and were not cancelled. */
  endedSeq = 0
  /** True when that call failed. */
  isFailing = false
  /** The calls that failed, and did not succeed by a retry since. */
  readonly failed = new FailedCalls()
  readonly sums = new TaskSums()
  readonly conduct = new Conduct()
  readonly undecided: FaultEvent[] = []
  readonly decided: Decided[] = []

  /** The result so far: the task fails or succeeds with its last call. */
  get result(): 'failed' | 'recovered' | 'ok' {
    if (this.isFailing) return 'failed'
    return this.sums.events > 0 ? 'recovered' : 'ok'
  }

  /** Counts a call as a retry that seemed to be a call of its own. */
  foundRetry(action: Action): void {
    action.isRetry = true
    this.sums.calls--
    this.sums.retries++
    if (action.hasEnded) this.failed.succeeded(callKey(action))
  }
}

/** The task of calls whose own is not clear yet. */
export const UNFILED = new Task('client', '', '', 0)
UNFILED.isEnded = true

/** Returns the task of a call once it is clear. */
export function clearTask({ task }: Action): Task | undefined {
  return task === UNFILED ? undefined : task
}
