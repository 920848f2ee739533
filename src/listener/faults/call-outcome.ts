import { type Call, type Origin, type Outcome, sharesStream } from '../../mcp/call.ts'
import { asksForInput, outcomeOf } from '../../mcp/outcome.ts'
import { type CallInjection, isAnyInjected, ownOf } from './call-injection.ts'
import { originOf, receivedOutcome, restore } from './call-state.ts'
import type { ExchangeFaults } from './exchange-faults.ts'

/** Returns the origin of the status of an exchange without calls. */
export function originOfStatus({ exchange, posted, calls }: ExchangeFaults): Origin {
  const owners = [exchange, ...posted.slice(calls.length)]
  return isAnyInjected(owners) ? 'injected' : 'real'
}

/** Returns the origin of a call's outcome; valid also after the end. */
export function originOfCall(
  { exchange, calls, request }: ExchangeFaults,
  call: Call,
  outcome?: Outcome,
): Origin {
  if (originOf(exchange, outcome) === 'injected') return 'injected'
  const own = ownOf(calls, call)
  if (own !== undefined && originOf(own, outcome) === 'injected') return 'injected'
  // A call that waits with its batch for the fault of another call counts as injected.
  return request.keeps ? 'injected' : 'real'
}

/** Returns true for a call that faults changed; valid also after the end. */
export function hasChanged({ exchange, calls }: ExchangeFaults, call: Call): boolean {
  const own = ownOf(calls, call)
  return isChanged(exchange) || (own !== undefined && isChanged(own))
}

/** Returns true when the upstream is known to have executed the call. */
export function isExecuted({ calls }: ExchangeFaults, call: Call): boolean {
  const { upstreamResponse, response } = ownOf(calls, call) ?? {}
  if (upstreamResponse !== undefined)
    return outcomeOf(call, upstreamResponse) === 'ok' && !asksForInput(upstreamResponse)
  const { status = 0 } = response ?? {}
  return status >= 200 && status < 300 && status !== 202
}

/** Returns the outcome of a call whose response was not read on its way to the client. */
export function unreadOutcome(faults: ExchangeFaults, call: Call): Outcome {
  const own = ownOf(faults.calls, call)
  // A fault may have damaged the response.
  if (!own?.edits.length && originOfCall(faults, call) === 'injected') return 'incomplete'
  return (own && receivedOutcome(own)) ?? 'ok'
}

/** Records a response that reaches the client after the exchange. */
export function responded({ exchange, calls, shared, request }: ExchangeFaults, call: Call): void {
  const own = ownOf(calls, call)
  // While the exchange is open, its faults determine the response.
  if (own === undefined || !request.isOver || sharesStream(call.transport)) return
  if (!shared) restore(exchange)
  if (own.lost === undefined) restore(own)
}

/**
 * Keeps the faults for the request that the client repeats after a redirect; returns false when
 * there is none.
 */
export function followRedirect({ request }: ExchangeFaults): boolean {
  if (request.redirect === undefined) return false
  request.redirect = 'held'
  return true
}

/** Ends the faults of a redirect that the client did not follow. */
export function unfollowed(faults: ExchangeFaults): void {
  faults.request.redirect = undefined
  faults.finish()
}

/** Returns true when faults changed the request or the response. */
function isChanged({ edits, isRestored, faults }: CallInjection): boolean {
  if (edits.length > 0) return true
  if (!isRestored) for (const { changed } of faults) if (changed) return true
  return false
}
