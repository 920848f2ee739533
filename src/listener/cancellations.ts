import type { Caller } from '../http/caller.ts'
import { CANCELLED, cancelledId, outcomeOfCancellation, reasonOf } from '../mcp/cancellation.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import type { CallEntry } from './call-entry.ts'
import type { InFlightRequests } from './in-flight-requests.ts'
import type { SendBarrier } from './send-barrier.ts'

/**
 * Abandons the earlier calls that `notifications/cancelled` names. Calls that a fault holds are not
 * sent to the upstream, which would get them after their cancellation. Returns the barriers of the
 * notification when it may name several held calls.
 */
export function cancel(
  inFlight: InFlightRequests,
  { others, calls }: PostedMessages,
  session: string,
  caller: Caller,
): readonly SendBarrier[] | undefined {
  let barriers: SendBarrier[] | undefined
  for (const { method, params, callsBefore } of others) {
    const id = method === CANCELLED ? cancelledId(params) : undefined
    if (id === undefined || calls.slice(0, callsBefore).some((call) => call.id === id)) continue
    const entry = inFlight.calls.named(session, id, caller)
    if (entry !== undefined) abandon(inFlight, entry, params)
    else if (session === '') {
      const barrier = inFlight.calls.sessionless.barrierFor(id, caller)
      if (barrier !== undefined) (barriers ??= []).push(barrier)
    }
  }
  return barriers
}

/** Abandons the calls of a body that the same body cancels. */
export function cancelOwn(
  inFlight: InFlightRequests,
  { others }: PostedMessages,
  entries: readonly CallEntry[],
): void {
  for (const { method, params, callsBefore } of others) {
    const id = method === CANCELLED ? cancelledId(params) : undefined
    const entry = entries.slice(0, callsBefore).find(({ call }) => call.id === id)
    if (entry !== undefined) abandon(inFlight, entry, params)
  }
}

function abandon(inFlight: InFlightRequests, entry: CallEntry, params: unknown): void {
  inFlight.abandon(entry, outcomeOfCancellation(params), 'real', { message: reasonOf(params) })
}
