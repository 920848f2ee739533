import type { Action } from '../agents/task.ts'
import type { ClientInfo, Outcome, RequestCall } from '../mcp/call.ts'
import type { OpenCall } from './side-faults.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import type { Caller } from '../http/caller.ts'

/** The state of a call from request to outcome. */
export interface CallEntry extends OpenCall {
  readonly call: RequestCall
  /** Empty for a call without a session. */
  readonly session: string
  /** The client that the request names; undefined where only its session does. */
  readonly client: ClientInfo | undefined
  /** Identifies the client of a call without a session. */
  readonly caller: Caller | undefined
  readonly receivedAt: number
  /** The first 55 characters of a valid `traceparent`, of `_meta` or else of the request. */
  readonly trace: string | undefined
  /** That of the request. */
  readonly headerTrace: string | undefined
  /** The size of the request; undefined for a call in a batch. */
  requestBytes: number | undefined
  /** The time at which the call was sent to the upstream; negative before. */
  sentAt: number
  /** The faults of the exchange; undefined when no rule matched. */
  faults: ExchangeFaults | undefined
  /** True while the HTTP exchange that carried the request is open. */
  exchangeOpen: boolean
  settled: boolean
  /** True when the result asked for input: the call is not executed yet. */
  asksForInput: boolean
  /** The time at which an exchange ended whose response may still come elsewhere; negative before. */
  leftAt: number
  /** The time at which the client resumed the stream of such an exchange; negative before. */
  resumedAt: number
  /** The requests by which the client resumed that stream: the last one, and those open beside it. */
  resumedBy: readonly Resumption[]
  /** The outcome of the call when it ends without a response. */
  fallback: Outcome
  action: Action | undefined
  /** The wait that the response asks for, in milliseconds. */
  retryAfter: number | undefined
  /** The effect of faults of another Squall, whose markers are trusted. */
  mark: ForeignMark
  newer: CallEntry | undefined
  older: CallEntry | undefined
}

/** A request that resumes a stream. */
interface Resumption {
  readonly faults: ExchangeFaults | undefined
  readonly isOver: boolean
}

/** The most requests that are kept for a call. */
const MAX_RESUMPTIONS = 8

/** Records that a request resumed the stream of a call. */
export function resume(entry: CallEntry, by: Resumption): void {
  const open = entry.resumedBy.filter(({ isOver }) => !isOver)
  entry.resumedBy = [...open.slice(1 - MAX_RESUMPTIONS), by]
}

/** The request that carries a call. */
export interface Carrier {
  readonly exchange: Caller
  readonly facts: { readonly trace: string | undefined }
  readonly posted?: { readonly client: ClientInfo | undefined } | undefined
  readonly session: string
  readonly receivedAt: number
}

/** Returns a call that has just arrived. */
export function newEntry(call: RequestCall, carrier: Carrier): CallEntry {
  const { exchange, facts, posted, session, receivedAt } = carrier
  return {
    call,
    session,
    client: posted?.client,
    caller: session === '' ? exchange : undefined,
    receivedAt,
    trace: call.trace ?? facts.trace,
    headerTrace: facts.trace,
    requestBytes: undefined,
    sentAt: -1,
    respondedAt: -1,
    faults: undefined,
    sideFaults: undefined,
    followed: undefined,
    exchangeOpen: true,
    settled: false,
    asksForInput: false,
    leftAt: -1,
    resumedAt: -1,
    resumedBy: [],
    fallback: 'incomplete',
    action: undefined,
    retryAfter: undefined,
    mark: 0,
    newer: undefined,
    older: undefined,
  }
}
