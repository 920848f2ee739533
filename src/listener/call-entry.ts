import type { ClientInfo, Outcome, RequestCall } from '../mcp/call.ts'
import type { OpenCall } from './disturbance.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'

/** Identifies a client without a session. */
export type Caller = Pick<Exchange, 'head' | 'peer'>

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
  /** The first 55 characters of a valid `traceparent` that came with the request. */
  readonly trace: string | undefined
  /** The time at which the call was sent to the app; negative before. */
  sentAt: number
  /** The time at which the app responded, where a fault may hold the response; negative before. */
  respondedAt: number
  /** The faults of the exchange; undefined when no rule matched. */
  faults: ExchangeFaults | undefined
  /** True while the HTTP exchange that carried the request is open. */
  exchangeOpen: boolean
  settled: boolean
  /** The time at which the client left an exchange whose response may still come elsewhere; negative before. */
  leftAt: number
  /** The outcome of the call when it ends without a response. */
  fallback: Outcome
  newer: CallEntry | undefined
  older: CallEntry | undefined
}

/** Returns a call that has just arrived. */
export function newEntry(
  call: RequestCall,
  session: string,
  receivedAt: number,
  trace: string | undefined,
  caller: Caller | undefined,
  client: ClientInfo | undefined,
): CallEntry {
  return {
    call,
    session,
    client,
    caller,
    receivedAt,
    trace,
    sentAt: -1,
    respondedAt: -1,
    faults: undefined,
    disturbance: undefined,
    exchangeOpen: true,
    settled: false,
    leftAt: -1,
    fallback: 'incomplete',
    newer: undefined,
    older: undefined,
  }
}
