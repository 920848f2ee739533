import type { Call } from '../mcp/call.ts'
import { jsonWeight } from '../base/json/json-weight.ts'
import type { Room } from '../base/room.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import type { RequestHead } from '../http/headers.ts'
import type { CallEntry } from './call-entry.ts'
import { disturbancesOf } from './disturbance.ts'
import type { FaultPlanner } from './faults/fault-planner.ts'
import type { ExchangeFaults } from './faults/exchange-faults.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { RedirectedPost } from './redirected-calls.ts'

/** A POST with calls. */
export interface CallRequest {
  readonly head: RequestHead
  readonly posted: PostedMessages
  /** The key of the session in the table of in-flight requests; empty without a session. */
  readonly session: string
  /** The size of the body in bytes. */
  readonly size: number
  /** The memory of the calls' arguments; 0 when no rule can match. */
  readonly weight?: number
  /** In milliseconds. */
  readonly receivedAt: number
}

interface Parts {
  readonly planner?: FaultPlanner | undefined
  readonly memory: MemoryBudget
  readonly now: () => number
}

/** Plans the faults of a POST's calls; calls of a repeated request keep their plan. */
export function planCalls(
  { planner, now, memory }: Parts,
  { head, posted, session, size, receivedAt, weight = 0 }: CallRequest,
  entries: readonly CallEntry[],
  repeats?: RedirectedPost,
): ExchangeFaults | undefined {
  const mayMatch = repeats !== undefined || weight > 0
  const faults = !mayMatch
    ? undefined
    : planner?.forCalls({
        weight,
        head,
        posted,
        session,
        requestBytes: size,
        receivedAt,
        repeats,
        onSent: () => markSent(entries, now),
        disturbancesOf: (call) => disturbancesOf(openOf(entries, call)),
        onResponded: (call) => markResponded(entries, call, now()),
      })
  if (faults === undefined) releaseParams(posted.calls, weight, memory)
  for (const entry of entries) entry.faults = faults
  return faults
}

/** Returns one call, or all, unless they have ended. */
function openOf(entries: readonly CallEntry[], call: Call | undefined): readonly CallEntry[] {
  return entries.filter((each) => !each.settled && (call === undefined || each.call === call))
}

/** Records that calls are sent to the app now. */
export function markSent(entries: readonly CallEntry[], now: () => number): number {
  const sentAt = now()
  for (const entry of entries) entry.sentAt = sentAt
  return sentAt
}

/** Records the app's response to one call or to all; faults may still hold the response. */
function markResponded(entries: readonly CallEntry[], call: Call | undefined, at: number): void {
  for (const entry of entries) {
    if (call === undefined || entry.call === call) entry.respondedAt = at
  }
}

/** Returns the memory that the parameters of messages take. */
export function paramsWeight({ calls, others }: PostedMessages): number {
  let weight = 0
  for (const { params } of calls) weight += jsonWeight(params)
  for (const { params } of others) weight += jsonWeight(params)
  return weight
}

/** Drops the arguments, which only faults read: an open call may be kept for long. */
function releaseParams(calls: readonly Call[], weight: number, memory: Room): void {
  for (const call of calls) call.params = undefined
  memory.give(weight)
}
