import type { JsonRpcId } from '../mcp/call.ts'
import { Chain } from '../base/linked-list.ts'
import { headerValue } from '../http/headers.ts'
import { SendBarrier } from './send-barrier.ts'
import type { CallEntry, Caller } from './call-entry.ts'

/** The headers that distinguish clients. */
const CALLER = [
  'authorization',
  'cookie',
  'user-agent',
  'x-api-key',
  'forwarded',
  'x-forwarded-for',
]

/** Holds the open calls without a session. Each client has its own ids, so one id may be open many times. */
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

  /** Returns the only open call with an id from a caller; undefined when there are none or several. */
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
   * Returns the barrier of the calls with an id from a caller that faults hold; undefined without held
   * calls. A call belongs to one barrier, however many cancellations match it.
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

function isSameCaller(a: Caller | undefined, b: Caller): boolean {
  if (a === undefined || a.peer !== b.peer) return false
  const [one, other] = [a.head.headers, b.head.headers]
  return CALLER.every((name) => headerValue(one, name) === headerValue(other, name))
}
