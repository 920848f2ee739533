import type { ClientInfo, JsonRpcId, Origin, Outcome, RequestCall } from '../mcp/call.ts'
import { CANCELLED, cancelledId, outcomeOfCancellation, reasonOf } from '../mcp/cancellation.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import { Endpoints } from '../mcp/endpoints.ts'
import { endingOf } from '../mcp/body-outcome.ts'
import type { Message } from '../mcp/json-rpc.ts'
import { InFlightCalls } from '../mcp/in-flight-calls.ts'
import { type Session, Sessions } from '../mcp/sessions.ts'
import { TaskTools, hasToolResult } from '../mcp/task-tools.ts'
import type { CallWatch } from '../telemetry/call-watch.ts'
import type { CallRecord, Telemetry } from '../telemetry/telemetry.ts'
import type { Caller } from '../http/caller.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import type { AgentsOfServer } from './agents-of-server.ts'
import { type CallEntry, SessionlessCalls, newEntry } from './call-entry.ts'
import { actionEnd, effectsOn, type Explained, recordOf } from './ended-call.ts'
import type { SendBarrier } from './send-barrier.ts'
import { RedirectedCalls } from './redirected-calls.ts'
import { TrustedMarkers } from './trusted-markers.ts'

/** Bounds the tables that are kept between exchanges. */
export interface InFlightOptions {
  readonly maxInFlight: number
  readonly inFlightTtl: number
  readonly maxSessions: number
  readonly markers?: TrustedMarkers | undefined
}

/**
 * Tracks the open calls and settles each exactly once, whichever connection its response comes on:
 * its own, the stream of an HTTP+SSE session, or a resumed one.
 */
export class InFlightRequests {
  readonly sessions: Sessions
  readonly endpoints: Endpoints
  readonly redirects: RedirectedCalls
  readonly tasks = new TaskTools()
  readonly markers: TrustedMarkers
  readonly #inFlight: InFlightCalls<CallEntry>
  readonly #sessionless = new SessionlessCalls()
  readonly #telemetry: Telemetry
  readonly #now: () => number
  readonly #watch: CallWatch | undefined
  readonly #agents: AgentsOfServer | undefined
  #open = 0

  constructor(
    options: InFlightOptions,
    telemetry: Telemetry,
    now: () => number,
    watch?: CallWatch,
    agents?: AgentsOfServer,
  ) {
    this.markers = options.markers ?? new TrustedMarkers(false)
    this.#telemetry = telemetry
    this.#now = now
    this.#watch = watch
    this.#agents = agents
    this.sessions = new Sessions(options.maxSessions, () => telemetry.evicted('sessions'))
    this.endpoints = new Endpoints(options.maxSessions, () => telemetry.evicted('endpoints'))
    this.redirects = new RedirectedCalls(({ entries, faults }, { sameHost }, full) => {
      if (full) telemetry.evicted('redirects')
      faults?.unfollowed()
      // A client that was redirected to another host is not expected back: the call did not fail.
      for (const entry of entries) this.settle(entry, sameHost ? 'http_error' : 'ok', 'real')
    })
    this.#inFlight = new InFlightCalls<CallEntry>(
      { limit: options.maxInFlight, ttl: options.inFlightTtl },
      (entry, full) => {
        if (full) telemetry.evicted('in_flight_calls')
        this.#dropped(entry)
      },
    )
  }

  /** The number of open calls, with those that the table does not hold. */
  get size(): number {
    return this.#open
  }

  /**
   * Opens a call. Responses to calls without a session come only on their own exchange. `stated` is
   * the session that the request names, where the call is not of that session any more.
   */
  open(
    call: RequestCall,
    session: string,
    receivedAt: number,
    trace?: string,
    caller?: Caller,
    stated = session,
    client?: ClientInfo,
  ): CallEntry {
    const from = session === '' ? caller : undefined
    const entry = newEntry(call, session, receivedAt, trace, from, client)
    if (this.#agents !== undefined && caller !== undefined) {
      const facts = { caller, session: stated, trace, client, server: this.#agents.server }
      entry.action = this.#agents.watch.started(call, facts, receivedAt)
    }
    this.#open++
    if (session === '') this.#sessionless.add(entry)
    else this.#inFlight.add(session, call.id, entry, receivedAt)
    return entry
  }

  /**
   * Settles a call once; later outcomes are ignored. `resultBytes` is the size of the message with
   * the result of a tool, if known.
   */
  settle(
    entry: CallEntry,
    outcome: Outcome,
    origin: Origin,
    resultBytes?: number,
    error?: Explained,
  ): void {
    if (entry.settled) return
    entry.settled = true
    this.#open--
    const { call, session } = entry
    if (session === '') this.#sessionless.remove(entry)
    else this.#inFlight.take(session, call.id, entry)
    // The session may have ended before the exchange.
    const end = outcome === 'incomplete' ? entry.fallback : outcome
    const now = end === 'abandoned' && entry.leftAt >= 0 ? entry.leftAt : this.#now()
    const record = recordOf(entry, end, origin, now, resultBytes)
    this.#telemetry.call(record)
    if (this.#watch?.wants(record) === true) this.#watched(this.#watch, entry, record, error)
    if (entry.action !== undefined) {
      const ended = actionEnd(entry, record, now, this.#clientOf(entry), error)
      this.#agents?.watch.ended(entry.action, ended, now)
    }
    entry.faults?.release(call)
  }

  /** Settles the calls of an exchange that got no response of the upstream. */
  settleAll(
    entries: readonly CallEntry[],
    outcome: Outcome,
    origin: Origin,
    error: Explained,
  ): void {
    for (const entry of entries) this.settle(entry, outcome, origin, undefined, error)
  }

  /** Reports a single call to whoever reads calls. */
  #watched(watch: CallWatch, entry: CallEntry, record: CallRecord, error?: Explained): void {
    const { call, session, requestBytes, action } = entry
    const more = {
      id: call.id,
      session,
      client: this.#clientOf(entry),
      error,
      requestBytes,
      task: action?.task,
      faults: effectsOn(entry, error),
    }
    // A copy of the record would take 3 KB.
    watch.ended(Object.assign(record, more))
  }

  #clientOf({ client, session }: CallEntry): ClientInfo | undefined {
    return client ?? this.sessions.get(session)?.client
  }

  /** Learns from a response to a call. */
  learn(session: string, call: RequestCall, message: Message): void {
    this.tasks.learn(session, call, message)
    this.#agents?.server.learn(call, message)
  }

  /** Records the session that an `initialize` began. */
  sessionBegan({ action }: CallEntry, id: string, session: Session): void {
    this.sessions.learn(id, session)
    if (action !== undefined) this.#agents?.watch.sessionBegan(action, id)
  }

  /** Finds the open call to which a message on a session's stream responds. */
  find(session: string, id: JsonRpcId): CallEntry | undefined {
    return session === '' ? undefined : this.#inFlight.peek(session, id)
  }

  /** Returns the open calls of a session. */
  openIn(session: string): readonly CallEntry[] {
    return [...this.#inFlight.ofSession(session)]
  }

  /** Settles the call of a result or error of so many bytes. */
  response(entry: CallEntry, message: Message, bytes: number, mark: ForeignMark = 0): void {
    entry.mark = Math.max(entry.mark, this.markers.believed(mark))
    entry.faults?.responded(entry.call)
    this.learn(entry.session, entry.call, message)
    const { outcome, error } = endingOf(entry.call, message)
    const resultBytes = hasToolResult(entry.call, message) ? bytes : undefined
    this.settle(entry, outcome, 'real', resultBytes, error)
  }

  /**
   * Abandons the earlier calls that `notifications/cancelled` names. Calls that a fault holds are
   * not sent to the upstream, which would get them after their cancellation. Returns the barriers
   * of the notification when it may name several held calls.
   */
  cancel(
    { others, calls }: PostedMessages,
    session: string,
    caller: Caller,
  ): readonly SendBarrier[] | undefined {
    let barriers: SendBarrier[] | undefined
    for (const { method, params, callsBefore } of others) {
      const id = method === CANCELLED ? cancelledId(params) : undefined
      if (id === undefined || calls.slice(0, callsBefore).some((call) => call.id === id)) continue
      const isSessionless = session === ''
      const entry = isSessionless ? this.#sessionless.find(id, caller) : this.find(session, id)
      if (entry !== undefined) this.#cancelled(entry, params)
      else if (isSessionless) {
        const barrier = this.#sessionless.barrierFor(id, caller)
        if (barrier !== undefined) (barriers ??= []).push(barrier)
      }
    }
    return barriers
  }

  /** Abandons the calls of a body that the same body cancels. */
  cancelOwn({ others }: PostedMessages, entries: readonly CallEntry[]): void {
    for (const { method, params, callsBefore } of others) {
      const id = method === CANCELLED ? cancelledId(params) : undefined
      const entry = entries.slice(0, callsBefore).find(({ call }) => call.id === id)
      if (entry !== undefined) this.#cancelled(entry, params)
    }
  }

  #cancelled(entry: CallEntry, params: unknown): void {
    this.#abandon(entry, outcomeOfCancellation(params), 'real', { message: reasonOf(params) })
  }

  /**
   * Keeps a call open after its exchange has ended, because a response may come on another
   * connection.
   */
  leaveOpen(entry: CallEntry, fallback: Outcome): void {
    if (entry.settled) return
    entry.exchangeOpen = false
    if (fallback !== 'incomplete') entry.fallback = fallback
    if (fallback === 'abandoned') entry.leftAt = this.#now()
    if (this.find(entry.session, entry.call.id) !== entry) this.settle(entry, fallback, 'real')
  }

  /** Closes a stream of HTTP+SSE; the last stream ends the session. */
  closeEndpoint(session: string, outcome: Outcome, origin: Origin = 'real'): void {
    this.#agents?.watch.sessionLeft(session)
    if (this.endpoints.forget(session)) this.endSession(session, outcome, origin)
  }

  /**
   * Suspends the held calls of a session whose client asks for its end, so that no call follows
   * that end. Returns a function to call with the upstream's status, or 0.
   */
  sessionEnding(session: string): (status: number) => void {
    let resume: () => void = () => undefined
    this.#agents?.watch.sessionLeft(session)
    const until = new Promise<void>((resolve) => (resume = resolve))
    for (const { faults } of this.#inFlight.ofSession(session)) faults?.suspend(until)
    return (status) => {
      const hasEnded = (status >= 200 && status < 300) || status === 404
      if (hasEnded) this.endSession(session, 'abandoned')
      resume()
    }
  }

  /** Ends a session. Calls that the upstream got stay open while their exchange is open. */
  endSession(session: string, outcome: Outcome, origin: Origin = 'real'): void {
    this.sessions.forget(session)
    for (const entry of this.#inFlight.dropSession(session)) {
      if (!entry.exchangeOpen || entry.faults?.holds === true) this.#abandon(entry, outcome, origin)
      else entry.fallback = outcome
    }
  }

  /** Drops calls without a response for too long. */
  sweep(): void {
    const now = this.#now()
    this.redirects.expire(now)
    for (const entry of this.#inFlight.expire(now)) {
      // While the exchange is open, the client may still cancel the call.
      if (entry.exchangeOpen) this.#inFlight.add(entry.session, entry.call.id, entry, now)
      else this.#dropped(entry)
    }
  }

  /** Settles a call for which nobody waits, before its faults forget it. */
  #abandon(entry: CallEntry, outcome: Outcome, origin: Origin = 'real', error?: Explained): void {
    this.settle(entry, outcome, origin, undefined, error)
    entry.faults?.abandon(entry.call)
  }

  /** Settles the redirected calls. */
  close(): void {
    this.redirects.expire(Infinity)
  }

  /** Settles an entry that left the table, unless its exchange is open and will settle it. */
  #dropped(entry: CallEntry): void {
    if (!entry.exchangeOpen) this.settle(entry, entry.fallback, 'real')
  }
}
