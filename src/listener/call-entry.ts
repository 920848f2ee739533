import type { Action } from '../agents/task.ts'
import type { ClientInfo, JsonRpcId, Outcome, RequestCall } from '../mcp/call.ts'
import type { OpenCall } from './disturbance.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import { Chain } from '../base/linked-list.ts'
import type { ForeignMark } from '../http/foreign-markers.ts'
import { type Caller, isSameCaller } from '../http/caller.ts'
import { SendBarrier } from './send-barrier.ts'

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
  /** The size of the request; undefined for a call in a batch. */
  requestBytes: number | undefined
  /** The time at which the call was sent to the upstream; negative before. */
  sentAt: number
  /**
   * The time at which the upstream responded, where a fault may hold the response; negative before.
   */
  respondedAt: number
  /** The faults of the exchange; undefined when no rule matched. */
  faults: ExchangeFaults | undefined
  /** True while the HTTP exchange that carried the request is open. */
  exchangeOpen: boolean
  settled: boolean
  /**
   * The time at which the client left an exchange whose response may still come elsewhere; negative
   * before.
   */
  leftAt: number
  /** The outcome of the call when it ends without a response. */
  fallback: Outcome
  /** The call among the actions of its agent; undefined while agents are not watched. */
  action: Action | undefined
  /** The wait that the response asks for, in milliseconds. */
  retryAfter: number | undefined
  /** The effect of faults of another Squall, whose markers are trusted. */
  mark: ForeignMark
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
    requestBytes: undefined,
    sentAt: -1,
    respondedAt: -1,
    faults: undefined,
    disturbance: undefined,
    exchangeOpen: true,
    settled: false,
    leftAt: -1,
    fallback: 'incomplete',
    action: undefined,
    retryAfter: undefined,
    mark: 0,
    newer: undefined,
    older: undefined,
  }
}

/**
 * Holds the open calls without a session. Each client has its own ids, so one id may be open many
 * times.
 */
export class SessionlessCalls {
  readonly #calls = new Chain<CallEntry>()
  /** Barriers by held call: each also covers the older calls that the same cancellations match. */
  readonly #barriers = new WeakMap<CallEntry, SendBarrier>()

  add(entry: CallEntry): void {
    this.#calls.add(entry)
  }

  remove(entry: CallEntry): void {
    this.#calls.remove(entry)
  }

  /**
   * Returns the only open call with an id from a caller; undefined when there are none or several.
   */
  find(id: JsonRpcId, caller: Caller): CallEntry | undefined {
    let found: CallEntry | undefined
    for (let entry = this.#calls.oldest; entry !== undefined; entry = entry.newer) {
      if (entry.call.id !== id || !isSameCaller(entry.caller, caller)) continue
      if (found !== undefined) return undefined
      found = entry
    }
    return found
  }

  /**
   * Returns the barrier of the calls with an id from a caller that faults hold; undefined without
   * held calls. A call belongs to one barrier, however many cancellations match it.
   */
  barrierFor(id: JsonRpcId, caller: Caller): SendBarrier | undefined {
    const held: CallEntry[] = []
    const requests: Promise<unknown>[] = []
    let known: SendBarrier | undefined
    for (let entry = this.#calls.newest; entry !== undefined; entry = entry.older) {
      if (entry.call.id !== id) continue
      const whenSent = entry.faults?.whenSent
      if (whenSent === undefined || !isSameCaller(entry.caller, caller)) continue
      known = this.#barriers.get(entry)
      if (known?.isPassed === false) {
        requests.push(known.passed)
        break
      }
      requests.push(whenSent)
      held.push(entry)
    }
    if (held.length === 0) return known
    const barrier = new SendBarrier(requests)
    for (const entry of held) this.#barriers.set(entry, barrier)
    return barrier
  }
}
