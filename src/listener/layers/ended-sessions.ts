import type { Relay } from '../relay.ts'
import type { Transfer } from '../../http/transfer.ts'
import { expiredResponse, unreadResponse } from '../faults/emit/injected-response.ts'
import type { WholeResponse } from '../rejection.ts'
import type { FaultOrigin } from '../faults/exchange-context.ts'
import type { Layer, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'
import type { Opened } from './settled.ts'

/**
 * Rejects requests of sessions that a fault has ended, and those that were not read while they may
 * use a false value; sees the end of the other sessions.
 */
export function endedSessions(p: StackParts): Layer<Service<Opened, Relay>> {
  return (inner) => ({
    send(opened, relay) {
      const { request } = opened
      const { facts, session, posted } = request
      const unread = mayUseFalseValue(p, opened)
      if (unread !== undefined) {
        return reject(p, opened, unread, relay, unreadResponse(request.exchange.head, unread))
      }
      const isEnd = facts.kind === 'session-end'
      if (posted !== undefined || isEnd || facts.kind === 'stream') {
        const by = p.planner?.expiredBy(session, posted?.calls ?? [])
        // A new `initialize` is accepted, even with the id of an ended session, as are denied tools.
        if (by !== undefined && posted?.calls[0]?.method !== 'initialize') {
          if (isEnd) p.sessions.end(session, 'abandoned', 'injected')
          const response = expiredResponse(request.exchange.head, posted?.calls ?? [], by)
          p.planner?.reportExpired(by, session, posted?.calls ?? [], facts.trace)
          return reject(p, opened, by, relay, response)
        }
      }
      if (isEnd) opened.account!.onEnd = p.sessions.ending(session)
      return inner.send(opened, relay)
    },
  })
}

/** Returns the fault whose false value a request that was not read may contain. */
function mayUseFalseValue(p: StackParts, { request, isUnread }: Opened): FaultOrigin | undefined {
  const { facts, exchange, session } = request
  if (!isUnread || (facts.kind !== 'post' && facts.ambiguity === undefined)) return undefined
  const endpoint = p.sessions.endpoints.lookup(exchange.head.target)
  return p.planner?.unreadMayUse(endpoint ?? session, exchange)
}

function reject(
  p: StackParts,
  { weight }: Opened,
  { ref }: FaultOrigin,
  relay: Relay,
  response: WholeResponse,
): Transfer {
  p.memory.give(weight)
  return relay.settlement.respond(response, 'injected', { status: response.head.status, by: ref })
}
