import { toolOf, type Call, type ClientInfo } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import { targetPath, type RequestHead } from '../../http/headers.ts'
import type { Sessions } from '../../mcp/sessions.ts'
import type { CallFacts, Destination, ExchangeFacts } from '../../rules/match/call-facts.ts'
import { finishPlan, type Plan } from '../../rules/select/plan.ts'

/** The facts of an exchange, with the protocol version of its session. */
export type RequestFacts = ExchangeFacts & Pick<CallFacts, 'protocolVersion'>

/** Collects the facts of a request. */
export function requestFacts(
  sessions: Sessions,
  head: RequestHead,
  session: string,
  client: ClientInfo | undefined,
  untouchable: boolean,
  outbound: Destination | undefined,
): RequestFacts {
  const known = session === '' ? undefined : sessions.get(session)
  return {
    headers: head.headers,
    session: session === '' ? undefined : session,
    client: client ?? known?.client,
    protocolVersion: known?.protocolVersion,
    http: { method: head.method, path: targetPath(head.target) },
    untouchable,
    outbound,
  }
}

/** Adds the tools of an exchange's calls, which only rules about HTTP read. */
export function withTools<Known extends ExchangeFacts | undefined>(
  facts: Known,
  posted: PostedMessages | undefined,
): Known {
  const tools = posted?.calls.flatMap((call) => toolOf(call) ?? []) ?? []
  return facts === undefined || tools.length === 0 ? facts : { ...facts, tools }
}

/**
 * Copies member by member, because a spread is ten times as slow and every call that may match gets
 * here.
 */
export function callFacts(facts: RequestFacts, call: Call): CallFacts {
  const { headers, session, client, protocolVersion, http, untouchable, outbound } = facts
  return { headers, session, client, protocolVersion, http, untouchable, outbound, call }
}

/** Returns a plan with faults to run; a plan of dry-run matches is finished at once. */
export function acting(plan: Plan | undefined): Plan | undefined {
  if (plan === undefined || !plan.dryRun) return plan
  finishPlan(plan)
  return undefined
}
