import type { Call, JsonRpcId, Origin, Outcome } from '../mcp/call.ts'
import { CANCELLED, cancelledId, outcomeOfCancellation } from '../mcp/cancellation.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import { Endpoints } from '../mcp/endpoints.ts'
import type { Message } from '../mcp/json-rpc.ts'
import { outcomeOf } from '../mcp/outcome.ts'
import { InFlightCalls } from '../mcp/in-flight-calls.ts'
import { Sessions } from '../mcp/sessions.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { CallEntry, Caller } from './call-entry.ts'
import type { Departure } from './late-upstream.ts'
import { RedirectedCalls } from './redirected-calls.ts'
import { SessionlessCalls } from './sessionless-calls.ts'

/** Bounds of what is remembered between exchanges. */
export interface InFlightOptions {
  readonly maxPending: number
  readonly pendingTtl: number
  readonly maxSessions: number
}

/** Calls that are meant to stay open: they have no duration worth a histogram, and a client ends them by leaving. */
const LONG_LIVED = new Set(['subscriptions/listen'])

/**
 * Remembers which calls are open and closes each exactly once, whichever connection its response comes
 * by: its own, the stream of an HTTP+SSE session, or a resumed one.
 */
export class InFlightRequests {
  readonly sessions: Sessions
  readonly endpoints: Endpoints
  readonly redirects: RedirectedCalls
  readonly #pending: InFlightCalls<CallEntry>
  readonly #sessionless = new SessionlessCalls()
  readonly #telemetry: Telemetry
  readonly #now: () => number
  #open = 0

  constructor(options: InFlightOptions, telemetry: Telemetry, now: () => number) {
    this.#telemetry = telemetry
    this.#now = now
    this.sessions = new Sessions(options.maxSessions, () => telemetry.evicted('sessions'))
    this.endpoints = new Endpoints(options.maxSessions, () => telemetry.evicted('endpoints'))
    this.redirects = new RedirectedCalls(({ entries, faults }, { sameHost }, full) => {
      if (full) telemetry.evicted('redirects')
      faults?.unfollowed()
      // A client that is sent to another host is not expected back: nothing has failed here.
      for (const entry of entries) this.settle(entry, sameHost ? 'http_error' : 'ok', 'upstream')
    })
    this.#pending = new InFlightCalls<CallEntry>(
      { limit: options.maxPending, ttl: options.pendingTtl },
      (entry, full) => {
        if (full) telemetry.evicted('pending_calls')
        this.#dropped(entry)
      },
    )
  }

  /** Calls that have not ended, also those that the table does not hold. */
  get pendingCalls(): number {
    return this.#open
  }

  /** Opens a call. Calls of no session can only be answered on their own exchange. */
  open(
    call: Call,
    session: string,
    receivedAt: number,
    trace?: string,
    caller?: Caller,
  ): CallEntry {
    const entry: CallEntry = {
      call,
      session,
      caller: session === '' ? caller : undefined,
      receivedAt,
      trace,
      sentAt: -1,
      respondedAt: -1,
      faults: undefined,
      exchangeOpen: true,
      settled: false,
      leftAt: -1,
      fallback: 'incomplete',
      newer: undefined,
      older: undefined,
    }
    this.#open++
    if (session === '') this.#sessionless.add(entry)
    else this.#pending.add(session, call.id, entry, receivedAt)
    return entry
  }

  /** Closes a call, once. */
  settle(entry: CallEntry, outcome: Outcome, origin: Origin): void {
    if (entry.settled) return
    entry.settled = true
    this.#open--
    const { call, session, sentAt, respondedAt } = entry
    const made = origin === 'upstream' ? (entry.faults?.originOf(call) ?? origin) : origin
    if (session === '') this.#sessionless.remove(entry)
    else this.#pending.take(session, call.id, entry)
    // Its session may have ended before its exchange.
    const end = outcome === 'incomplete' ? entry.fallback : outcome
    const now = end === 'abandoned' && entry.leftAt >= 0 ? entry.leftAt : this.#now()
    // What a fault held the response back for is none of the app's time.
    const appEnd = respondedAt >= 0 ? respondedAt : now
    const timed = !LONG_LIVED.has(call.method)
    this.#telemetry.call({
      method: call.method,
      name: call.name,
      outcome: end === 'abandoned' && !timed ? 'cancelled' : end,
      origin: made,
      seconds: timed ? (now - entry.receivedAt) / 1000 : undefined,
      upstreamSeconds:
        timed && origin !== 'squall' && sentAt >= 0 ? (appEnd - sentAt) / 1000 : undefined,
      changed: end === 'ok' && entry.faults?.hasChanged(call) === true,
      trace: entry.trace,
    })
    entry.faults?.release(call)
  }

  /** Finds the open call that a message on a session's stream answers. */
  find(session: string, id: JsonRpcId): CallEntry | undefined {
    return session === '' ? undefined : this.#pending.peek(session, id)
  }

  /** Closes the call that a result or error responses. */
  response(entry: CallEntry, message: Message): void {
    entry.faults?.responses(entry.call)
    this.settle(entry, outcomeOf(entry.call, message), 'upstream')
  }

  /**
   * Takes note of the earlier calls that a client gives up by `notifications/cancelled`. What a fault
   * holds of them never goes to the upstream, which would get the call behind its cancellation
   * otherwise. Returns what is to be waited for where several held calls may be meant.
   */
  cancel(
    { notifications, calls }: PostedMessages,
    session: string,
    caller: Caller,
  ): readonly Departure[] | undefined {
    let behind: Departure[] | undefined
    for (const { method, params, callsBefore } of notifications) {
      const id = method === CANCELLED ? cancelledId(params) : undefined
      if (id === undefined || calls.slice(0, callsBefore).some((call) => call.id === id)) continue
      const isAlone = session === ''
      const entry = isAlone ? this.#sessionless.find(id, caller) : this.find(session, id)
      if (entry !== undefined) this.#giveUp(entry, outcomeOfCancellation(params))
      else if (isAlone) {
        const leaving = this.#sessionless.leaving(id, caller)
        if (leaving !== undefined) (behind ??= []).push(leaving)
      }
    }
    return behind
  }

  /** Takes note of the calls that are given up in the body that they came in. */
  cancelOwn({ notifications }: PostedMessages, entries: readonly CallEntry[]): void {
    for (const { method, params, callsBefore } of notifications) {
      const id = method === CANCELLED ? cancelledId(params) : undefined
      const entry = entries.slice(0, callsBefore).find(({ call }) => call.id === id)
      if (entry !== undefined) this.#giveUp(entry, outcomeOfCancellation(params))
    }
  }

  /** The exchange that carried a call is over; a response may still come by another connection. */
  leaveOpen(entry: CallEntry, fallback: Outcome): void {
    if (entry.settled) return
    entry.exchangeOpen = false
    if (fallback !== 'incomplete') entry.fallback = fallback
    if (fallback === 'abandoned') entry.leftAt = this.#now()
    if (this.find(entry.session, entry.call.id) !== entry) this.settle(entry, fallback, 'upstream')
  }

  /** A stream of HTTP+SSE has ended, and with its last one goes the session. */
  closeEndpoint(session: string, outcome: Outcome, origin: Origin = 'upstream'): void {
    if (this.endpoints.forget(session)) this.endSession(session, outcome, origin)
  }

  /**
   * A client asks for the end of its session. What faults hold of its calls waits until it is known
   * whether the session ends, so that no call comes behind that; tell it the upstream's status, or 0.
   */
  sessionEnding(session: string): (status: number) => void {
    let go: () => void = () => undefined
    const until = new Promise<void>((resolve) => (go = resolve))
    for (const { faults } of this.#pending.ofSession(session)) faults?.suspend(until)
    return (status) => {
      const isOver = (status >= 200 && status < 300) || status === 404
      if (isOver) this.endSession(session, 'abandoned')
      go()
    }
  }

  /** A session is over. Calls that the upstream got are left to their exchange as long as that is open. */
  endSession(session: string, outcome: Outcome, origin: Origin = 'upstream'): void {
    this.sessions.forget(session)
    for (const entry of this.#pending.dropSession(session)) {
      if (!entry.exchangeOpen || entry.faults?.holds === true) this.#giveUp(entry, outcome, origin)
      else entry.fallback = outcome
    }
  }

  /** Lets go of what nobody has answered for too long. */
  sweep(): void {
    const now = this.#now()
    this.redirects.expire(now)
    for (const entry of this.#pending.expire(now)) {
      // As long as its exchange is open, its client may still give it up.
      if (entry.exchangeOpen) this.#pending.add(entry.session, entry.call.id, entry, now)
      else this.#dropped(entry)
    }
  }

  /** Nobody waits for a call any more. Counted first, as long as it is known what holds it. */
  #giveUp(entry: CallEntry, outcome: Outcome, origin: Origin = 'upstream'): void {
    this.settle(entry, outcome, origin)
    entry.faults?.giveUp(entry.call)
  }

  /** Nobody comes back any more. */
  close(): void {
    this.redirects.expire(Infinity)
  }

  /** An entry left the table: its own exchange, if still open, will close it. */
  #dropped(entry: CallEntry): void {
    if (!entry.exchangeOpen) this.settle(entry, entry.fallback, 'upstream')
  }
}
