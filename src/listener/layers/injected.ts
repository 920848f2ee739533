import { clearTask } from '../../agents/task.ts'
import type { Upstream } from '../../http/transfer.ts'
import type { Call } from '../../mcp/call.ts'
import type { CallEntry } from '../call-entry.ts'
import { cancelOwn } from '../cancellations.ts'
import { sideFaultsOf } from '../side-faults.ts'
import type { ExchangeFaults } from '../faults/exchange-faults.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'
import { type Opened, releaseParams } from './settled.ts'

/** Plans the faults of each request by the active rules, and lets them act on it. */
export function injected(p: StackParts): Layer<Service<Opened>, Service<Outgoing>> {
  return (inner) => {
    const services = { inner, alone: alone(inner) }
    return {
      send(opened, sink) {
        const { request, entries, barriers } = opened
        const faults = plan(p, opened)
        const { exchange } = request
        const { head } = exchange
        const outgoing: Outgoing = { head, body: exchange.body.forSending(), entries, barriers }
        if (faults === undefined) return inner.send(outgoing, sink)
        return p.planner!.send(services, faults, outgoing, sink)
      },
    }
  }
}

/** Sends requests of Squall itself, which belong to no call of a client. */
export function alone(inner: Service<Outgoing>): Upstream {
  return {
    send: (head, body, sink) => inner.send({ head, body, entries: [], barriers: undefined }, sink),
  }
}

function plan(p: StackParts, opened: Opened): ExchangeFaults | undefined {
  const { request, posted, entries, account, isUnread, weight } = opened
  const { exchange, size, repeats } = request
  if (posted === undefined || (entries.length + weight === 0 && repeats === undefined)) {
    const faults = p.planner?.forExchange(exchange.head, size, isUnread)
    if (account !== undefined) account.faults = faults
    return faults
  }
  const faults = weight > 0 || repeats !== undefined ? planCalls(p, opened) : undefined
  if (faults === undefined) releaseParams(posted.calls, weight, p.memory)
  for (const entry of entries) entry.faults = faults
  if (account !== undefined) account.faults = faults
  if (posted.batch && repeats === undefined) cancelOwn(p.inFlight, posted, entries)
  return faults
}

/** Plans the faults of a POST's calls; calls of a repeated request keep their plan. */
function planCalls(
  { planner, now }: StackParts,
  { request, posted, entries, weight }: Opened,
): ExchangeFaults | undefined {
  const { exchange, session, size, receivedAt, repeats } = request
  return planner?.forCalls({
    weight,
    head: exchange.head,
    posted: posted!,
    session,
    requestBytes: size,
    receivedAt,
    repeats,
    entryOf: (call) => entries.find((each) => each.call === call),
    sideFaultsOf: (call) => sideFaultsOf(openOf(entries, call)),
    taskOf(call) {
      const action = entries.find((each) => each.call === call)?.action
      return action && clearTask(action)
    },
    onResponded: (call) => markResponded(entries, call, now()),
  })
}

/** Returns one call, or all, unless they have ended. */
function openOf(entries: readonly CallEntry[], call: Call | undefined): readonly CallEntry[] {
  return entries.filter((each) => !each.settled && (call === undefined || each.call === call))
}

/** Records the upstream's response to one call or to all; faults may still hold the response. */
function markResponded(entries: readonly CallEntry[], call: Call | undefined, at: number): void {
  for (const entry of entries) {
    if (call === undefined || entry.call === call) entry.respondedAt = at
  }
}
