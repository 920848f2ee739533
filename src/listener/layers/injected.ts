import { cancelOwn } from '../cancellations.ts'
import type { ExchangeFaults } from '../faults/exchange-faults.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'
import { type Opened, releaseParams } from './settled.ts'

/** Plans the faults of each request by the active rules, and lets them act on it. */
export function injected(p: StackParts): Layer<Service<Opened>, Service<Outgoing>> {
  return (inner) => ({
    send(opened, sink) {
      const { request, entries, barriers } = opened
      const faults = plan(p, opened)
      const { head, body } = request.exchange
      const outgoing = { head, body: body.forSending(), entries, barriers }
      if (faults === undefined) return inner.send(outgoing, sink)
      return p.planner!.send(inner, faults, outgoing, sink)
    },
  })
}

function plan(p: StackParts, opened: Opened): ExchangeFaults | undefined {
  const { request, posted, entries, account, isUnread, weight } = opened
  const { exchange, session, size, receivedAt, repeats } = request
  const { head } = exchange
  const mayAct = weight > 0 || repeats !== undefined
  let faults: ExchangeFaults | undefined
  if (mayAct && posted !== undefined) {
    faults = p.planner?.forCalls({
      head,
      requestBytes: size,
      posted,
      weight,
      receivedAt,
      session,
      repeats,
      entries,
    })
  } else if (entries.length === 0) faults = p.planner?.forExchange(head, size, isUnread)
  if (faults === undefined && posted !== undefined) releaseParams(posted.calls, weight, p.memory)
  for (const entry of entries) entry.faults = faults
  if (account !== undefined) account.faults = faults
  const isNew = entries.length + weight > 0 && repeats === undefined
  if (isNew && posted?.batch === true) cancelOwn(p.inFlight, posted, entries)
  return faults
}
