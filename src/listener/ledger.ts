import type { Call, JsonRpcId, Origin, Outcome } from '../mcp/call.ts'
import { Endpoints } from '../mcp/endpoints.ts'
import type { Message } from '../mcp/message.ts'
import { outcomeOf } from '../mcp/outcome.ts'
import { PendingCalls } from '../mcp/pending-calls.ts'
import { Sessions } from '../mcp/sessions.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { CallEntry } from './call-entry.ts'
import { RedirectedCalls } from './redirected-calls.ts'

/** Bounds of what is remembered between exchanges. */
export interface LedgerOptions {
  readonly maxPending: number
  readonly pendingTtl: number
  readonly maxSessions: number
}

/** A reason given with `notifications/cancelled` that means the client's patience ran out. */
const TIMED_OUT = /time(?:d[ -]?)?\s?out/i

/** Calls that are meant to stay open have no duration worth a histogram. */
const LONG_LIVED = new Set(['subscriptions/listen'])

/**
 * Remembers which calls are open and closes each exactly once, whichever connection its answer comes
 * by: its own, the stream of an HTTP+SSE session, or a resumed one.
 */
export class Ledger {
  readonly sessions: Sessions
  readonly endpoints: Endpoints
  readonly redirects: RedirectedCalls
  readonly #pending: PendingCalls<CallEntry>
  readonly #telemetry: Telemetry
  readonly #now: () => number
  #open = 0

  constructor(options: LedgerOptions, telemetry: Telemetry, now: () => number) {
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
    this.#pending = new PendingCalls<CallEntry>(
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
  open(call: Call, session: string, receivedAt: number, trace?: string): CallEntry {
    const entry: CallEntry = {
      call,
      session,
      receivedAt,
      trace,
      sentAt: -1,
      answeredAt: -1,
      faults: undefined,
      exchangeOpen: true,
      settled: false,
      fallback: 'incomplete',
    }
    this.#open++
    if (session !== '') this.#pending.add(session, call.id, entry, receivedAt)
    return entry
  }

  /** Closes a call, once. */
  settle(entry: CallEntry, outcome: Outcome, origin: Origin): void {
    if (entry.settled) return
    entry.settled = true
    this.#open--
    const { call, session, sentAt, answeredAt } = entry
    const made = origin === 'upstream' ? (entry.faults?.originOf(call) ?? origin) : origin
    if (session !== '') this.#pending.take(session, call.id, entry)
    const now = this.#now()
    // What a fault held the answer back for is none of the app's time.
    const appEnd = answeredAt >= 0 ? answeredAt : now
    const timed = !LONG_LIVED.has(call.method)
    this.#telemetry.call({
      method: call.method,
      name: call.name,
      outcome,
      origin: made,
      seconds: timed ? (now - entry.receivedAt) / 1000 : undefined,
      upstreamSeconds:
        timed && origin !== 'squall' && sentAt >= 0 ? (appEnd - sentAt) / 1000 : undefined,
      changed: outcome === 'ok' && entry.faults?.hasChanged(call) === true,
      trace: entry.trace,
    })
    entry.faults?.release(call)
  }

  /** Finds the open call that a message on a session's stream answers. */
  find(session: string, id: JsonRpcId): CallEntry | undefined {
    return session === '' ? undefined : this.#pending.peek(session, id)
  }

  /** Closes the call that a result or error answers. */
  answer(entry: CallEntry, message: Message): void {
    entry.faults?.answers(entry.call)
    this.settle(entry, outcomeOf(entry.call, message), 'upstream')
  }

  /** The client gave a call up by `notifications/cancelled`. */
  cancel(session: string, params: unknown): void {
    if (typeof params !== 'object' || params === null) return
    const { requestId, reason } = params as { requestId?: unknown; reason?: unknown }
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return
    const entry = this.find(session, requestId)
    if (entry === undefined) return
    const late = typeof reason === 'string' && TIMED_OUT.test(reason)
    this.settle(entry, late ? 'timeout' : 'cancelled', 'upstream')
  }

  /** The exchange that carried a call is over; an answer may still come by another connection. */
  leaveOpen(entry: CallEntry, fallback: Outcome): void {
    if (entry.settled) return
    entry.exchangeOpen = false
    entry.fallback = fallback
    if (this.find(entry.session, entry.call.id) !== entry) this.settle(entry, fallback, 'upstream')
  }

  /** A stream of HTTP+SSE has ended, and with its last one goes the session. */
  closeEndpoint(session: string, outcome: Outcome, origin: Origin = 'upstream'): void {
    if (!this.endpoints.forget(session)) return
    this.sessions.forget(session)
    for (const entry of this.#pending.dropSession(session)) {
      if (entry.exchangeOpen) continue
      this.settle(entry, outcome, origin)
    }
  }

  /** Lets go of what nobody has answered for too long. */
  sweep(): void {
    this.redirects.expire(this.#now())
    for (const entry of this.#pending.expire(this.#now())) this.#dropped(entry)
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
