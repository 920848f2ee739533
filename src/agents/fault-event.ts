import { inOnePiece } from '../base/bytes.ts'
import type { ClientInfo, Origin, Outcome } from '../mcp/call.ts'
import { isError } from '../telemetry/outcome-index.ts'
import type { CallRecord, FaultEffect } from '../telemetry/telemetry.ts'
import { type ActionFacts, type Execution, isHandshake, isList } from './action.ts'
import type { Verdict } from './verdicts.ts'

/** Describes the end of a call. */
export interface ActionEnd {
  readonly record: Pick<CallRecord, 'outcome' | 'origin' | 'changed' | 'trace' | 'span'>
  /** The faults that took effect on the call. */
  readonly faults: readonly FaultEffect[]
  readonly retryAt?: number | undefined
  /** The execution of the call by the upstream. */
  readonly execution: Execution
  readonly isSessionLost: boolean
  /** True for an error that may be gone when the call is made again. */
  readonly isTransient: boolean
  readonly client: ClientInfo | undefined
  readonly session: string
}

/** A call on which a fault took effect, or which failed: the question to the agent. */
export interface EventFacts {
  readonly action: ActionFacts
  /** The faults that took effect, and the origin of an error that no fault caused. */
  readonly causes: readonly string[]
  readonly outcome: Outcome
  readonly origin: Origin
  /** True when the client learned that something went wrong, or got a changed result. */
  readonly isNoticed: boolean
  /** The execution of the tool by the upstream, of which the client did not learn. */
  readonly execution: Execution
  /** The time before which the client was asked not to come back. */
  readonly retryAt: number | undefined
  /** True when the response was that the session does not exist any more. */
  readonly isSessionLost: boolean
  /** True for an error that may be gone when the call is made again. */
  readonly isTransient: boolean
  readonly endedAt: number
  /** The same time in milliseconds since the epoch. */
  readonly date: number
  readonly trace: string | undefined
  /** The `traceparent` of the exported span of the call. */
  readonly span: string | undefined
  readonly client: ClientInfo | undefined
  readonly session: string
}

/**
 * Timers of clients may fire early by a millisecond, and the last bytes of the response leave
 * before the call is counted.
 */
export const EARLY_MS = 20
/** A client is not waited for longer, whatever `Retry-After` says. */
const MAX_RETRY_AFTER = 3_600_000
/** Sessions with longer ids are not shown; nothing else remembers them either. */
const MAX_SESSION = 1024

/** Decides what an agent did after one event. */
export class FaultEvent {
  readonly facts: EventFacts
  /** The verdict if the event were decided now. */
  verdict: Verdict
  retries = 0
  /** The arrival of the first of them. */
  retriedAt: number | undefined
  /** The first call that followed, until it has ended without an overlap. */
  #reaction: ActionFacts | undefined
  #isConfirmed = false
  /** True once a later call of the tool succeeded. */
  #isOver = false
  /** The retries that count towards a runaway, and the last of them: calls beside it do not count. */
  #rounds = 0
  #counted: ActionFacts | undefined
  readonly #maxRetries: number

  constructor(facts: EventFacts, maxRetries: number) {
    this.facts = facts
    this.#maxRetries = maxRetries
    this.verdict = facts.outcome === 'ok' ? 'continued' : 'gave_up'
  }

  /** Returns true for a call that repeats the call of the event. */
  isRepeatedBy(next: ActionFacts): boolean {
    return this.#isOfSameTool(next) && this.facts.action.hash === next.hash
  }

  /** Takes a call that arrives after the event; returns true when the verdict is final. */
  followedBy(next: ActionFacts): boolean {
    const isSame = this.#isOfSameTool(next)
    if (!this.#isConfirmed && (this.#reaction === undefined || this.#isStep(this.#reaction))) {
      this.#reaction = next
      this.verdict = this.#first(next, isSame)
    }
    if (!isSame || this.#isOver || this.#isStep(next) || !this.#mayRetry(next)) return false
    this.retriedAt ??= next.receivedAt
    this.retries++
    if (this.#counted?.hasEnded === false) return false
    this.#counted = next
    if (++this.#rounds <= this.#maxRetries) return false
    if (this.verdict !== 'possible_duplicate') this.verdict = 'runaway'
    // A second execution is worse, and is known when the call ends.
    return this.facts.execution === 'none'
  }

  /** Takes the end of a call that arrived after the event; returns true when it decides. */
  followEnded(next: ActionFacts, isOk: boolean, execution: Execution): boolean {
    const { facts } = this
    const isExecuted = facts.execution !== 'none'
    if (isExecuted && execution !== 'none' && this.isRepeatedBy(next)) {
      if (facts.execution === 'known' && execution === 'known') {
        this.verdict = 'duplicate_execution'
        return true
      }
      const { server, name } = facts.action
      if (!server.isSafe(name)) this.verdict = 'possible_duplicate'
    }
    if (next === this.#reaction) {
      this.#isConfirmed = !this.#isStep(next)
      this.#reaction = undefined
    }
    if (this.#isStep(next)) return false
    if (this.#isOfSameTool(next)) {
      this.#isOver ||= isOk
      // A second execution that counts for another event decides no executed call.
      return isOk && (!isExecuted || (execution !== 'none' && this.isRepeatedBy(next)))
    }
    // A session or a list is followed by what it was asked for, which may be one of many retries.
    if (isHandshake(next.method) || isList(next.method)) return false
    return this.#isConfirmed && !isExecuted && this.retries === 0
  }

  /** Takes the news that calls of the task overlap, which may belong to other tasks. */
  overlapped(): void {
    if (!this.#isConfirmed) this.verdict = 'ambiguous'
  }

  /** The time from which on the agent may react. */
  get expectedAt(): number {
    return Math.max(this.facts.endedAt, this.facts.retryAt ?? 0)
  }

  /** Returns true when the event waits for the call that followed first. */
  get isOpen(): boolean {
    return !this.#isConfirmed
  }

  #first(next: ActionFacts, isSame: boolean): Verdict {
    const { outcome, retryAt } = this.facts
    if (isSame) {
      // A client that has a result, and asks for something else, goes on.
      if (!this.#mayRetry(next)) return 'continued'
      if (retryAt !== undefined) {
        return next.receivedAt < retryAt - EARLY_MS ? 'ignored_retry_after' : 'honoured_retry_after'
      }
      return this.isRepeatedBy(next) ? 'retried' : 'retried_changed'
    }
    if (outcome === 'ok') return 'continued'
    if (isHandshake(next.method)) return 'reinitialized'
    return isList(next.method) ? 'relisted' : 'switched_tool'
  }

  /** Returns true for a call before the reaction: it begins a session, or repeats another call. */
  #isStep(next: ActionFacts): boolean {
    const { isSessionLost, action } = this.facts
    if (isHandshake(next.method)) return !isSessionLost && !isHandshake(action.method)
    return next.isRetry && !this.isRepeatedBy(next)
  }

  #mayRetry(next: ActionFacts): boolean {
    return this.facts.outcome !== 'ok' || this.isRepeatedBy(next)
  }

  #isOfSameTool({ method, name, server }: ActionFacts): boolean {
    const { action } = this.facts
    if (action.server !== server) return false
    // An MCP task that failed is repeated by a call of the tool that began it.
    const isBegun = method === 'tools/call' && name !== undefined && action.tool === name
    return isBegun || (action.method === method && action.name === name)
  }
}

/** Returns the facts of an event, without parts of longer texts. */
export function factsOf(
  action: ActionFacts,
  { record, execution, isSessionLost, isTransient, retryAt, client, session }: ActionEnd,
  causes: readonly string[],
  { now, date }: { readonly now: number; readonly date: number },
): EventFacts {
  const { outcome, origin, trace, span, changed } = record
  const isOk = outcome === 'ok'
  return {
    action,
    causes,
    outcome,
    origin,
    isNoticed: !isOk || changed === true,
    // Other methods only read, and may be repeated.
    execution: isOk || action.method !== 'tools/call' ? 'none' : execution,
    retryAt: retryAt === undefined ? undefined : Math.min(retryAt, now + MAX_RETRY_AFTER),
    isSessionLost,
    isTransient,
    endedAt: now,
    date,
    trace: trace === undefined ? undefined : inOnePiece(trace),
    span,
    client,
    session: session.length > MAX_SESSION ? '' : inOnePiece(session),
  }
}

/** Returns the end of a call that is held, without parts of longer texts. */
export function keptEnd(end: ActionEnd): ActionEnd {
  const { outcome, origin, changed = false, trace, span } = end.record
  const record = { outcome, origin, changed, trace: trace && inOnePiece(trace), span }
  return {
    ...end,
    record,
    // A fault that took effect holds its call, with the arguments.
    faults: end.faults.map(({ rule, fault }) => ({ rule, fault })),
    session: end.session.length > MAX_SESSION ? '' : inOnePiece(end.session),
  }
}

const NO_CAUSES: readonly string[] = []

/** Returns the faults that took effect, and the origin of an error that no fault caused. */
export function causesOf({ faults, record: { outcome, origin } }: ActionEnd): readonly string[] {
  if (faults.length === 0) return isError(outcome) ? [origin] : NO_CAUSES
  const causes = [...new Set(faults.map(({ fault }) => fault))]
  return isError(outcome) && origin !== 'injected' ? [...causes, origin] : causes
}
