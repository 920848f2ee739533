import type { Call } from '../mcp/call.ts'
import type { PostedMessages } from '../mcp/classify.ts'
import type { RequestHead } from '../http/headers.ts'
import type { CallEntry } from './call-entry.ts'
import { letGoOfParams } from './call-weight.ts'
import type { FaultPlanner } from './faults/fault-planner.ts'
import type { FaultRun } from './faults/fault-run.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { RedirectedPost } from './redirected-calls.ts'

/** A POST that carries calls. */
export interface CallRequest {
  readonly head: RequestHead
  readonly posted: PostedMessages
  /** The key of the session in the table of in-flight requests; empty where there is none. */
  readonly session: string
  /** How many bytes the body has. */
  readonly size: number
  /** How much memory the arguments of its calls take; 0 where no rule may match them. */
  readonly weight?: number
  /** In milliseconds. */
  readonly receivedAt: number
}

interface Parts {
  readonly planner?: FaultPlanner | undefined
  readonly memory: MemoryBudget
  readonly now: () => number
}

/** Asks the rules about the calls of a POST; those of a repeated request have been asked before. */
export function planCalls(
  { planner, now, memory }: Parts,
  { head, posted, session, size, receivedAt, weight = 0 }: CallRequest,
  entries: readonly CallEntry[],
  repeats?: RedirectedPost,
): FaultRun | undefined {
  const isAsked = repeats !== undefined || weight > 0
  const faults = !isAsked
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
        onResponded: (call) => markResponded(entries, call, now()),
      })
  if (faults === undefined) letGoOfParams(posted.calls, weight, memory)
  for (const entry of entries) entry.faults = faults
  return faults
}

/** Notes that calls go to the app now. */
export function markSent(entries: readonly CallEntry[], now: () => number): number {
  const sentAt = now()
  for (const entry of entries) entry.sentAt = sentAt
  return sentAt
}

/** Notes that the app's response to a call is there, or to all of them; faults may still keep it. */
function markResponded(entries: readonly CallEntry[], call: Call | undefined, at: number): void {
  for (const entry of entries) {
    if (call === undefined || entry.call === call) entry.respondedAt = at
  }
}
