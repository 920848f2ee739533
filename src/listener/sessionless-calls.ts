import type { JsonRpcId } from '../mcp/call.ts'
import { Chain } from '../base/linked-list.ts'
import { headerValue } from '../http/headers.ts'
import { Departure } from './late-upstream.ts'
import type { CallEntry, Caller } from './call-entry.ts'

/** The headers that tell clients apart. */
const CALLER = [
  'authorization',
  'cookie',
  'user-agent',
  'x-api-key',
  'forwarded',
  'x-forwarded-for',
]

/** Keeps the open calls of no session. Clients count their ids each for itself, so that one id may be open many times. */
export class SessionlessCalls {
  readonly #calls = new Chain<CallEntry>()
  /** By held calls: when they, and all older ones that the same cancellations fit, have left. */
  readonly #leaving = new WeakMap<CallEntry, Departure>()

  add(entry: CallEntry): void {
    this.#calls.add(entry)
  }

  remove(entry: CallEntry): void {
    this.#calls.remove(entry)
  }

  /** Returns the only open call with an id from a caller; undefined when there is none, or several. */
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
   * Returns the departure of the calls with an id from a caller that faults hold; undefined when they
   * hold none. Each call is waited for once, however many cancellations fit it.
   */
  leaving(id: JsonRpcId, caller: Caller): Departure | undefined {
    const held: CallEntry[] = []
    const requests: Promise<unknown>[] = []
    let known: Departure | undefined
    for (let entry = this.#calls.newest; entry !== undefined; entry = entry.older) {
      if (entry.call.id !== id) continue
      const going = entry.faults?.going
      if (going === undefined || !isSameCaller(entry.caller, caller)) continue
      known = this.#leaving.get(entry)
      if (known?.isOver === false) {
        requests.push(known.over)
        break
      }
      requests.push(going)
      held.push(entry)
    }
    if (held.length === 0) return known
    const departure = new Departure(requests)
    for (const entry of held) this.#leaving.set(entry, departure)
    return departure
  }
}

function isSameCaller(a: Caller | undefined, b: Caller): boolean {
  if (a === undefined || a.peer !== b.peer) return false
  const [one, other] = [a.head.headers, b.head.headers]
  return CALLER.every((name) => headerValue(one, name) === headerValue(other, name))
}
