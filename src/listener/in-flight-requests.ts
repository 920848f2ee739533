import { clearTask } from '../agents/task.ts'
import {
  type ClientInfo,
  type Origin,
  type Outcome,
  type RequestCall,
  sharesStream,
} from '../mcp/call.ts'
import { endingOf } from '../mcp/body-outcome.ts'
import type { Message } from '../mcp/json-rpc.ts'
import { asksForInput } from '../mcp/outcome.ts'
import type { Sessions } from '../mcp/sessions.ts'
import { TaskTools, hasToolResult } from '../mcp/task-tools.ts'
import type { EndedCall } from '../telemetry/call-line.ts'
import type { CallWatch } from '../telemetry/call-watch.ts'
import type { CallRecord, Telemetry } from '../telemetry/telemetry.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import { type CallEntry, type Carrier, newEntry } from './call-entry.ts'
import { actionEnd, effectsOn, type Explained, recordOf } from './ended-call.ts'
import { responded, unfollowed } from './faults/call-outcome.ts'
import type { FaultPlanner } from './faults/fault-planner.ts'
import { OpenCalls } from './open-calls.ts'
import { RedirectedCalls } from './redirected-calls.ts'
import type { TrustedMarkers } from './trusted-markers.ts'
import type { AgentWatch } from '../agents/agent-watch.ts'
import type { ServerTools } from '../agents/server-tools.ts'

/** Bounds the table of open calls. */
export interface InFlightOptions {
  readonly maxInFlight: number
  readonly inFlightTtl: number
}

/** Returns the text of a response that was not parsed; undefined for others. */
export type RawText = () => string | undefined
export const PARSED: RawText = () => undefined

/** The parts of a port that learn from calls. */
interface InFlightContext {
  readonly telemetry: Telemetry
  readonly now: () => number
  readonly sessions: Sessions
  readonly markers: TrustedMarkers
  readonly watch?: CallWatch | undefined
  /** Watches the agents that call one server. */
  readonly agents?: { readonly watch: AgentWatch; readonly server: ServerTools } | undefined
}

/**
 * Settles each open call exactly once, whichever connection its response comes on: its own, the
 * stream of an HTTP+SSE session, or a resumed one.
 */
export class InFlightRequests {
  readonly calls: OpenCalls
  readonly redirects: RedirectedCalls
  readonly tasks = new TaskTools()
  /** Gets each response to a call, as its client does. */
  planner: Pick<FaultPlanner, 'responded'> | undefined
  readonly #parts: InFlightContext

  constructor({ maxInFlight, inFlightTtl }: InFlightOptions, parts: InFlightContext) {
    const { telemetry } = (this.#parts = parts)
    this.redirects = new RedirectedCalls(({ entries, faults, at }, { sameHost }, full) => {
      if (full) telemetry.evicted('redirects')
      if (faults !== undefined) unfollowed(faults)
      // A client that was redirected to another host is not expected back: the call did not fail.
      const outcome = sameHost ? 'http_error' : 'ok'
      for (const entry of entries)
        this.settle(Object.assign(entry, { leftAt: at, fallback: outcome }), outcome, 'real')
    })
    this.calls = new OpenCalls({ limit: maxInFlight, ttl: inFlightTtl }, (entry, full) => {
      if (full) telemetry.evicted('in_flight_calls')
      this.#dropped(entry)
    })
  }

  /** Opens a call. Responses to calls without a session come only on their own exchange. */
  open(call: RequestCall, carrier: Carrier): CallEntry {
    const entry = newEntry(call, carrier)
    const { agents } = this.#parts
    if (agents !== undefined) {
      const { session, client, trace, receivedAt } = entry
      const facts = { caller: carrier.exchange, session, trace, client, server: agents.server }
      entry.action = agents.watch.started(call, facts, receivedAt)
    }
    this.calls.add(entry)
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
    this.calls.remove(entry)
    // The session may have ended before the exchange.
    const end = outcome === 'incomplete' ? entry.fallback : outcome
    const { telemetry, watch, agents, now } = this.#parts
    const isLeft = entry.leftAt >= 0 && (end === 'abandoned' || end === entry.fallback)
    const at = isLeft ? Math.max(entry.leftAt, entry.resumedAt) : now()
    const record = recordOf(entry, end, origin, at, resultBytes)
    telemetry.call(record)
    if (watch?.wants(record, entry.faults !== undefined) === true)
      watch.ended(this.#endedCall(entry, record, at, error))
    if (entry.action !== undefined) {
      agents?.watch.ended(
        entry.action,
        actionEnd(entry, record, at, this.#clientOf(entry), error),
        at,
      )
    }
    entry.faults?.release(entry.call)
  }

  /** Adds to a record what readers of single calls need: a copy would take 3 KB. */
  #endedCall(entry: CallEntry, record: CallRecord, endedAt: number, error?: Explained): EndedCall {
    const { call, session, requestBytes, action } = entry
    const { protocolVersion = this.#parts.sessions.get(session)?.protocolVersion } = call
    return Object.assign(record, {
      id: call.id,
      session,
      source: entry,
      protocolVersion,
      endedAt,
      client: this.#clientOf(entry),
      error,
      requestBytes,
      task: action && clearTask(action),
      faults: effectsOn(entry, error),
    })
  }

  #clientOf({ client, session }: CallEntry): ClientInfo | undefined {
    return client ?? this.#parts.sessions.get(session)?.client
  }

  /** Learns from a response to a call; `raw` returns its text where it was not parsed. */
  learn(entry: CallEntry, message: Message, raw: RawText): void {
    const { session, call } = entry
    entry.asksForInput = asksForInput(message)
    this.planner?.responded(entry, message, raw)
    this.tasks.learn(session, call, message)
    this.#parts.agents?.server.learn(call, message)
  }

  /** Settles the call of a result or error. */
  settleResponse(
    entry: CallEntry,
    message: Message,
    bytes: number,
    mark: ForeignMark = 0,
    raw: RawText = PARSED,
  ): void {
    entry.mark = Math.max(entry.mark, this.#parts.markers.believed(mark))
    if (entry.faults !== undefined) responded(entry.faults, entry.call)
    this.learn(entry, message, raw)
    const { outcome, error } = endingOf(entry.call, message)
    const resultBytes = hasToolResult(entry.call, message) ? bytes : undefined
    this.settle(entry, outcome, 'real', resultBytes, error)
  }

  /**
   * Keeps a call open after its exchange has ended, because a response may come on another
   * connection.
   */
  leaveOpen(entry: CallEntry, fallback: Outcome): void {
    if (entry.settled) return
    entry.exchangeOpen = false
    if (fallback !== 'incomplete') entry.fallback = fallback
    if (!sharesStream(entry.call.transport)) entry.leftAt = this.#parts.now()
    if (this.calls.find(entry.session, entry.call.id) !== entry)
      this.settle(entry, fallback, 'real')
  }

  /** Settles a call for which nobody waits, before its faults forget it. */
  abandon(entry: CallEntry, outcome: Outcome, origin: Origin = 'real', error?: Explained): void {
    this.settle(entry, outcome, origin, undefined, error)
    entry.faults?.request.abandon(entry.call)
  }

  /** Records that the client of a session came back for responses. */
  resumed(session: string): void {
    const now = this.#parts.now()
    for (const entry of this.calls.inSessions.ofSession(session)) {
      if (!entry.exchangeOpen) entry.resumedAt = now
    }
  }

  /** Drops calls without a response for too long. */
  sweep(): void {
    const now = this.#parts.now()
    this.redirects.expire(now)
    for (const entry of this.calls.inSessions.expire(now)) {
      // While the client waits, it may still cancel the call.
      const waits = entry.exchangeOpen || entry.resumedBy.some(({ isOver }) => !isOver)
      if (waits) this.calls.keep(entry, now)
      else this.#dropped(entry)
    }
  }

  /** Settles an entry that left the table, unless its exchange is open and will settle it. */
  #dropped(entry: CallEntry): void {
    if (!entry.exchangeOpen) this.settle(entry, entry.fallback, 'real')
  }
}
