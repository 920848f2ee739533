import { Chain } from '../base/linked-list.ts'
import { type Caller, isSameCaller } from '../http/caller.ts'
import type { JsonRpcId } from '../mcp/call.ts'
import { InFlightCalls, type InFlightLimits } from '../mcp/in-flight-calls.ts'
import type { CallEntry } from './call-entry.ts'
import { SendBarrier } from './send-barrier.ts'

/** Finds the open calls of a port: by session and id or, without a session, by caller and id. */
export class OpenCalls {
  /** The calls of sessions; those that leave this table stay open. */
  readonly inSessions: InFlightCalls<CallEntry>
  readonly sessionless = new SessionlessCalls()
  /** The number of open calls, with those that the table does not hold. */
  size = 0

  /** `onEvict` gets calls that left the table without an end; `full` is true for lack of room. */
  constructor(limits: InFlightLimits, onEvict: (entry: CallEntry, full: boolean) => void) {
    this.inSessions = new InFlightCalls(limits, onEvict)
  }

  add(entry: CallEntry): void {
    this.size++
    this.keep(entry, entry.receivedAt)
  }

  /** Holds a call, or holds it longer, for a response on another connection. */
  keep(entry: CallEntry, now: number): void {
    if (entry.session === '') this.sessionless.add(entry)
    else this.inSessions.add(entry.session, entry.call.id, entry, now)
  }

  remove(entry: CallEntry): void {
    this.size--
    if (entry.session === '') this.sessionless.remove(entry)
    else this.inSessions.take(entry.session, entry.call.id, entry)
  }

  /** Finds the call to which a message on a session's stream responds. */
  find(session: string, id: JsonRpcId): CallEntry | undefined {
    return session === '' ? undefined : this.inSessions.peek(session, id)
  }

  /** Finds the call that a message of its client names. */
  named(session: string, id: JsonRpcId, caller: Caller): CallEntry | undefined {
    return session === '' ? this.sessionless.find(id, caller) : this.find(session, id)
  }
}

/**
 * Holds the open calls without a session. Each client has its own ids, so one id may be open many
 * times.
 */
class SessionlessCalls extends Chain<CallEntry> {
  /** Barriers by held call: each also covers the older calls that the same cancellations match. */
  readonly #barriers = new WeakMap<CallEntry, SendBarrier>()

  /**
   * Returns the only open call with an id from a caller; undefined when there are none or several.
   */
  find(id: JsonRpcId, caller: Caller): CallEntry | undefined {
    let found: CallEntry | undefined
    for (let entry = this.oldest; entry !== undefined; entry = entry.newer) {
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
    for (let entry = this.newest; entry !== undefined; entry = entry.older) {
      if (entry.call.id !== id) continue
      const whenSent = entry.faults?.request.whenSent
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
