import { type RequestCall, toolOf } from '../mcp/call.ts'
import type { TaskCounts } from '../telemetry/task-counts.ts'
import { isError } from '../telemetry/outcome-index.ts'
import { callKey, hashOf, isHandshake, isPassive, keptName } from './action.ts'
import { type ActionEnd, causesOf, factsOf, FaultEvent, keptEnd } from './fault-event.ts'
import { Findings } from './findings.ts'
import { HeldCalls } from './held-calls.ts'
import type { Held } from './open-trace.ts'
import { ServerTools } from './server-tools.ts'
import { ShownEvents } from './shown-events.ts'
import { type Action, type Decided, earlyReaction, type Task, UNFILED } from './task.ts'
import { TaskFinder } from './task-finder.ts'
import { clientOfHeaders, type TaskFacts, type TaskKey, type TaskKeys } from './task-key.ts'
import { keptKey, MAX_TASKS, TaskTable } from './task-table.ts'

export { Findings }

export interface AgentWatchOptions extends TaskKeys {
  /** The wait for a reaction, and the pause that ends a task, in milliseconds. */
  readonly window: number
  /** More retries than this are a runaway. */
  readonly maxRetries: number
  readonly maxTasks?: number
  /** Milliseconds since the epoch. */
  readonly now?: () => number
}

/** A decided event with its call, for readers. */
export interface TaskEvent extends Decided {
  readonly task: Task
}

/** Events of one task that wait for a verdict: each further call is compared with all of them. */
const MAX_UNDECIDED = 1_000
/** Events of all tasks that wait: 20,000 take 10 MB. */
const MAX_ALL_UNDECIDED = 20_000
const MAX_ENDED = 200

/** Groups calls into tasks, and decides what agents did after faults and errors. */
export class AgentWatch {
  readonly window: number
  /** The start of all counts, in milliseconds since the epoch. */
  readonly beganAt: number
  readonly #findings: Findings
  readonly #maxRetries: number
  readonly #counts: TaskCounts
  readonly #now: () => number
  /** The time of the latest news, by the steady clock. */
  #at = 0
  /** Returns a time of the steady clock in milliseconds since the epoch. */
  readonly #dateOf = (at: number): number => this.#now() - Math.max(0, this.#at - at)
  readonly #tasks: TaskTable
  readonly #finder: TaskFinder
  readonly #held: HeldCalls
  readonly #undecided = new Set<Task>()
  #waiting = 0
  readonly #ended: Task[] = []
  readonly #shown = new ShownEvents()
  readonly #servers = new Map<string, ServerTools>()
  readonly #readers = new Set<(event: TaskEvent) => void>()
  readonly #onEvict: () => void
  readonly #onResult = (call: RequestCall, result: unknown): void =>
    this.#findings.flows.responded(call, result)

  constructor(
    options: AgentWatchOptions,
    counts: TaskCounts,
    onEvict: () => void = () => {},
    findings = new Findings(options),
  ) {
    this.window = options.window
    this.#findings = findings
    this.#maxRetries = options.maxRetries
    this.#counts = counts
    this.#now = options.now ?? Date.now
    this.beganAt = this.#now()
    this.#onEvict = onEvict
    this.#tasks = new TaskTable(options.maxTasks ?? MAX_TASKS, (oldest) => {
      this.#onEvict()
      this.#end(oldest)
    })
    this.#finder = new TaskFinder(this.#tasks, this.#dateOf, (task) => this.#overlap(task))
    this.#held = new HeldCalls(options, options.window, this.#tasks)
  }

  /** The number of tasks that have not ended. */
  get size(): number {
    return this.#tasks.size
  }

  /** The number of events without a verdict. */
  get waiting(): number {
    return this.#waiting + this.#held.events
  }

  /** Returns the tasks, those used last first, and then those that have ended. */
  *tasks(): Iterable<{ readonly task: Task; readonly isOpen: boolean }> {
    for (const task of this.#tasks.recent()) yield { task, isOpen: true }
    for (const task of this.#ended.toReversed()) yield { task, isOpen: false }
  }

  /** Adds a reader of verdicts; returns the function that removes it. */
  read(reader: (event: TaskEvent) => void): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  /** Returns what is known of the tools of a server, by its address. */
  serverOf(address: string): ServerTools {
    const known = this.#servers.get(address) ?? new ServerTools(this.#servers.size, this.#onResult)
    this.#servers.set(address, known)
    return known
  }

  /** Takes a call that arrives; undefined when nothing names its task. */
  started(call: RequestCall, facts: TaskFacts, now: number): Action | undefined {
    this.#at = now
    const place = this.#held.enter(call, facts, now)
    const action: Action = {
      task: UNFILED,
      held: undefined,
      method: keptName(call.method),
      name: call.name === undefined ? undefined : keptName(call.name),
      tool: call.tool === undefined ? undefined : keptName(call.tool),
      server: facts.server,
      // The arguments are released before the call ends.
      hash: (call.hash ??= hashOf(call)),
      receivedAt: now,
      seq: 0,
      others: 0,
      isPassive: isPassive(call.method),
      isAgain: false,
      hasEnded: false,
      isRetry: false,
      isOk: false,
      execution: 'none',
    }
    const isHeld = place !== undefined && 'caller' in place
    if (isHeld) this.#hold(action, place)
    else this.#begin(action, place, facts)
    if (!isHeld && action.task === UNFILED) return undefined
    const by = facts.session || (action.held?.caller ?? action.task)
    this.#findings.flows.asked(call, by, facts.server, now)
    return action
  }

  #hold(action: Action, place: Held): void {
    action.held = place
    this.#held.add(place, action.receivedAt, (key = place.key) => {
      if (key !== undefined)
        this.#expire(this.#tasks.find(key.kind, key.key), action.receivedAt - this.window)
      this.#begin(action, key, place)
    })
  }

  /** Takes the begin of a call whose task is clear. */
  #begin(action: Action, key: TaskKey | undefined, sender: Held | TaskFacts): void {
    const { method, name, receivedAt, isPassive: passive } = action
    action.held = undefined
    const task = this.#finder.taskOf(key, method, sender, receivedAt)
    if (task === undefined) return
    if (task.seq === 0) task.conduct.client ??= clientOfHeaders(sender)
    this.#tasks.use(task, receivedAt)
    if (task.isLeft) this.#tasks.returned(task)
    const seq = passive ? task.seq : task.seq + 1
    action.task = task
    action.seq = seq
    action.others = task.open
    action.isRetry = task.failed.isRepeatedBy(action)
    const { latest } = task
    action.isAgain =
      action.isRetry || (task.isFailing && latest?.name === name && latest?.method === method)
    if (!passive) {
      if (task.isShared && task.open > 0) this.#overlap(task)
      if (isHandshake(method) && task.isFailing) task.conduct.restarted(latest)
      task.seq = seq
      task.open++
      task.latest = action
    }
    if (task.undecided.length > 0) this.#follow(action)
    if (passive || isHandshake(method)) return
    this.#counts.calls.add(task.kind)
    if (action.isRetry) {
      task.sums.retries++
      this.#counts.retries++
    } else {
      this.#count(task)
      task.sums.calls++
    }
  }

  /** Takes the end of a call. */
  ended(action: Action, end: ActionEnd, now: number): void {
    // A call that its client left is counted later.
    this.#at = Math.max(this.#at, now)
    const place = this.#held.placeOf(action)
    if (place === undefined) return this.#finish(action, end, now)
    const kept = keptEnd(end)
    place.trace?.ended(kept.record.outcome !== 'ok', Math.max(now, kept.retryAt ?? 0))
    const isEvent = causesOf(kept).length > 0
    this.#held.add(place, now, () => this.#finish(action, kept, now), isEvent)
  }

  #finish(action: Action, end: ActionEnd, now: number): void {
    this.#expire(action.task, now - this.window)
    if (!action.task.isEnded) this.#settle(action, end, now)
    action.hasEnded = true
  }

  #settle(action: Action, end: ActionEnd, now: number): void {
    const { task, method } = action
    const { outcome } = end.record
    const isOk = outcome === 'ok'
    action.isOk = isOk
    action.execution = end.execution
    this.#tasks.use(task, now)
    if (end.client !== undefined) task.conduct.client = end.client
    if (!action.isPassive) {
      task.open--
      this.#findings.ended(action, this.#dateOf, now)
    }
    // A request about an MCP task shows how its tool failed, and no success without a failure.
    const isShown = !action.isPassive || (action.tool && (isError(outcome) || action.isRetry))
    if (isShown && action.seq >= task.endedSeq && outcome !== 'cancelled') {
      task.endedSeq = action.seq
      task.isFailing = !isOk
    }
    if (!action.isRetry && method === 'tools/call' && action.name !== undefined) {
      this.#counts.tools.add(action.name, task.sums.tools)
    }
    const isDuplicate = task.undecided.length > 0 && this.#followEnded(action)
    const isCounted = action.isRetry && !action.isPassive && !isHandshake(method)
    if (isDuplicate || (isCounted && isError(outcome))) this.#wasted(task)
    const causes = causesOf(end)
    if (action.isRetry && isOk && end.record.changed !== true)
      task.failed.succeeded(callKey(action))
    // A timer sends the next ping, whatever became of this one.
    if (causes.length === 0 || method === 'ping') return
    this.#count(task)
    task.sums.events++
    const reaction = earlyReaction(action, outcome, now)
    const at = reaction === undefined ? now : Math.min(now, reaction.receivedAt)
    const event = new FaultEvent(
      factsOf(action, end, causes, { now: at, date: this.#dateOf(now) }),
      this.#maxRetries,
    )
    if (event.facts.isNoticed && !action.isRetry)
      task.failed.add(callKey(action), task.undecided.length)
    this.#add(action, event, reaction)
  }

  /** Returns true for a call that was executed twice. */
  #followEnded(action: Action): boolean {
    const { task, isOk, execution } = action
    let isDuplicate = false
    // One call repeats the execution of one other.
    let repeats = execution
    for (const event of task.undecided.slice()) {
      if (event.facts.endedAt > action.receivedAt) continue
      const { verdict } = event
      const decides = event.followEnded(action, isOk, repeats)
      isDuplicate ||= event.verdict === 'duplicate_execution'
      if (isDuplicate || (event.verdict !== verdict && event.verdict === 'possible_duplicate')) {
        repeats = 'none'
      }
      if (decides) this.#decide(task, event)
    }
    return isDuplicate
  }

  /** Takes the session that an `initialize` has begun. */
  sessionBegan(action: Action, id: string): void {
    const session = keptKey(id)
    const place = this.#held.placeOf(action)
    this.#held.add(place && { ...place, session }, this.#at, () => {
      const { task } = action
      if (task.kind === 'session' && !task.isEnded && id !== '') this.#tasks.alias(task, session)
    })
  }

  /** Takes the end of a session by its client. */
  sessionLeft(id: string): void {
    const session = keptKey(id)
    const place = this.#held.queueOf(this.#held.callerOf(session))
    this.#held.add(place, this.#at, () => this.#tasks.left(session))
  }

  /** Decides events whose time is over, and ends tasks that were not used for the window. */
  sweep(now: number): void {
    this.#at = now
    this.#held.release(now)
    // Later calls of the task may be held.
    const untilOf = ({ isShared, caller }: Task): number =>
      Math.min(now, isShared ? this.#held.knownUntil(caller) : now) - this.window
    for (const task of this.#undecided) this.#expire(task, untilOf(task))
    for (const task of this.#tasks.unusedSince(now - this.window)) this.#expire(task, untilOf(task))
  }

  #expire(task: Task | undefined, until: number): void {
    if (task === undefined || task.isEnded || task.open > 0) return
    for (const event of task.undecided.slice()) {
      if (event.expectedAt <= until) this.#decide(task, event)
    }
    if (task.undecided.length === 0 && task.usedAt <= until) this.#end(task)
  }

  #follow(action: Action): void {
    const { task, receivedAt } = action
    const others = task.open - (action.isPassive ? 0 : 1)
    for (const event of task.undecided.slice()) {
      // The window ended since the last sweep.
      const isLate = others === 0 && event.expectedAt + this.window <= receivedAt
      if (!isLate && action.isPassive && !event.isRepeatedBy(action)) continue
      if (isLate || event.followedBy(action)) this.#decide(task, event)
    }
  }

  #overlap(task: Task): void {
    for (const event of task.undecided.slice()) {
      event.overlapped()
      this.#decide(task, event)
    }
  }

  #add({ task, others, seq }: Action, event: FaultEvent, reaction?: Action): void {
    task.undecided.push(event)
    this.#waiting++
    this.#undecided.add(task)
    if (!event.facts.isNoticed) return this.#decide(task, event)
    this.#tasks.waits(task)
    // Any of several calls may be the first after the client left.
    if (reaction?.seq === seq + 1) {
      const isNewRetry = !reaction.isRetry && !isHandshake(reaction.method)
      if (isNewRetry && event.isRepeatedBy(reaction)) {
        task.foundRetry(reaction)
        this.#counts.retries++
      }
      const decides = event.followedBy(reaction)
      const { hasEnded } = reaction
      if (hasEnded && !decides) {
        event.followEnded(reaction, reaction.isOk, reaction.execution)
        if (event.verdict === 'duplicate_execution') this.#wasted(task)
      }
      // The step to a call is followed by that call.
      if (decides || (hasEnded && !isHandshake(reaction.method))) this.#decide(task, event)
      return
    }
    if (reaction !== undefined || (task.isShared && (others > 0 || seq !== task.seq))) {
      event.overlapped()
      return this.#decide(task, event)
    }
    const isFull = task.undecided.length > MAX_UNDECIDED
    if (!isFull && this.#waiting <= MAX_ALL_UNDECIDED) return
    const [first] = isFull ? [task] : this.#undecided
    this.#onEvict()
    if (first !== undefined) this.#decide(first, first.undecided[0]!)
  }

  #decide(task: Task, event: FaultEvent): void {
    const { verdict } = event
    const at = task.undecided.indexOf(event)
    if (at < 0) return
    task.undecided.splice(at, 1)
    this.#waiting--
    if (task.undecided.length === 0) this.#undecided.delete(task)
    const decided = { event, verdict, at: this.#now() }
    this.#shown.add(task, decided)
    const { action, causes, isNoticed, trace } = event.facts
    const tool = toolOf(action)
    const isSafe = action.server.isSafe(tool)
    this.#counts.decided({ verdict, tool, isSafe, causes, isNoticed, trace })
    this.#findings.decided(task, event)
    for (const reader of this.#readers) reader({ ...decided, task })
  }

  #wasted(task: Task): void {
    task.sums.wasted++
    this.#counts.wasted++
  }

  /** Counts a task as open from its first call or event on. */
  #count(task: Task): void {
    if (task.sums.isEmpty) this.#counts.open++
  }

  #end(task: Task): void {
    task.isEnded = true
    for (const event of task.undecided.slice()) this.#decide(task, event)
    this.#tasks.remove(task)
    this.#shown.ended(task)
    if (task.sums.isEmpty) return
    this.#counts.open--
    this.#counts.ended.add(task.result)
    this.#ended.push(task)
    if (this.#ended.length > MAX_ENDED) this.#ended.shift()
  }
}
