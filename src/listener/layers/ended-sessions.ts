import type { Relay } from '../relay.ts'
import { expiredResponse } from '../faults/emit/injected-response.ts'
import type { FaultOrigin } from '../faults/exchange-context.ts'
import type { Layer, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'
import type { Opened } from './settled.ts'

/** Rejects requests of sessions that a fault has ended, and sees the end of the others. */
export function endedSessions(p: StackParts): Layer<Service<Opened, Relay>> {
  return (inner) => ({
    send(opened, relay) {
      const { request } = opened
      const { facts, session, posted } = request
      const isEnd = facts.kind === 'session-end'
      if (posted !== undefined || isEnd || facts.kind === 'stream') {
        const by = p.planner?.expiredBy(session)
        // A new `initialize` is accepted, even with the id of an ended session.
        if (by !== undefined && posted?.calls[0]?.method !== 'initialize') {
          if (isEnd) p.sessions.end(session, 'abandoned', 'injected')
          return reject(p, opened, by, relay)
        }
      }
      if (isEnd) opened.account!.onEnd = p.sessions.ending(session)
      return inner.send(opened, relay)
    },
  })
}

function reject(p: StackParts, { request, weight }: Opened, by: FaultOrigin, relay: Relay) {
  const { exchange, facts, posted, session } = request
  const calls = posted?.calls ?? []
  p.memory.give(weight)
  const response = expiredResponse(exchange.head, calls, by)
  p.planner?.reportExpired(by, session, calls, facts.trace)
  return relay.settlement.respond(response, 'injected', {
    status: response.head.status,
    by: by.ref,
  })
}
