import type { Asker } from '../falsified/false-values.ts'
import { clearTask } from '../../agents/task.ts'
import { callerKey } from '../../agents/task-key.ts'
import { traceId } from '../../http/traceparent.ts'
import type { Caller } from '../../http/caller.ts'
import { targetPath, type RequestHead } from '../../http/headers.ts'
import { toolOf, type Call, type ClientInfo, type Transport } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import type { TaskTools } from '../../mcp/task-tools.ts'
import type { CallFacts, Destination, ExchangeFacts } from '../../rules/match/call-facts.ts'
import type { HeaderFaults } from '../../rules/select/header-faults.ts'
import { finishPlan, type Plan } from '../../rules/select/plan.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { CallEntry } from '../call-entry.ts'
import type { OpenCall } from '../side-faults.ts'
import type { RedirectedPost } from '../redirected-calls.ts'
import type { ConnectionFaults } from '../outbound/connection-faults.ts'
import type { FaultedExchange, FaultListener, InjectionParts } from './exchange-context.ts'
import type { SessionControl, SessionEffects, WatchedResults } from './session-control.ts'

/** The rules of a sidecar, and what their faults report to. */
export interface RuleParts extends WatchedResults {
  readonly rules: ActiveRules
  /** Undefined where no outgoing connection is carried. */
  readonly connections?: ConnectionFaults | undefined
  /** Returns the listener for the faults of one session's exchanges. */
  readonly listenerOf: (session: string, trace: string | undefined) => FaultListener
  /** Undefined when faults by header are disabled. */
  readonly headerFaults?: HeaderFaults | undefined
}

/** The parts of the listener on which faults act, and its bounds. */
export interface PlannerContext
  extends SessionEffects, Omit<InjectionParts, 'now' | 'control' | 'push'> {
  readonly maxSessions: number
  /** True to rethrow planning errors. */
  readonly strict: boolean
  readonly logger: Logger
  /** The transport of sessions whose responses come on their stream; on stdio HTTP rules are off. */
  readonly streamTransport: Transport
  readonly tasks: TaskTools
  /** The destination of outgoing traffic. */
  readonly outbound: Destination | undefined
  readonly openIn: (session: string) => readonly OpenCall[]
}

/** Configures a planner. */
export interface FaultPlannerOptions extends RuleParts, PlannerContext {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly control: SessionControl
  /** Receives planning errors; the exchange continues unless this throws. */
  readonly onError: (error: unknown) => void
}

/** A POST, or an exchange without calls. */
export interface PlannedRequest extends FaultedExchange {
  /** The key of the session in the table of in-flight requests; empty without a session. */
  readonly session: string
  readonly entries: readonly CallEntry[]
  /** True for a body that may contain calls which nobody observes. */
  readonly isUnread?: boolean
  /** The redirected request that this one repeats: its calls are planned already. */
  readonly repeats?: RedirectedPost | undefined
}

/** The facts of an exchange, with the protocol version of its session. */
export type RequestFacts = ExchangeFacts & Pick<CallFacts, 'protocolVersion'>

/** The headers of a line of stdio: those of its exchange are Squall's own. */
const NO_HEADERS: readonly string[] = []

/** Collects the facts of a request. */
export function requestFacts(
  { sessions, outbound, streamTransport }: FaultPlannerOptions,
  head: RequestHead,
  session: string,
  client?: ClientInfo,
  untouchable = false,
): RequestFacts {
  const known = session === '' ? undefined : sessions.get(session)
  return {
    headers: streamTransport === 'stdio' ? NO_HEADERS : head.headers,
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

/** Returns the task of a call, or else its session or client, in which false values are looked for. */
export function askerOf({ action, session, caller, call, trace }: CallEntry): Asker {
  const party = partyOf(session, caller)
  const { held } = action ?? {}
  const key = held === undefined ? action?.task : held.key
  const keys = [key === undefined ? party : `${key.kind} ${key.key}`]
  // The next call of the trace shows whether the trace is the task.
  if (held?.trace !== undefined && trace !== undefined) keys.push(`trace ${traceId(trace)}`)
  return {
    keys,
    task: () => action && clearTask(action),
    party,
    hint: action?.server.hintOf(call.name ?? '') ?? 'unknown',
  }
}

/** Returns the keys of all conversations that the head of a request may name. */
export function keysOf(session: string, caller: Caller): readonly string[] {
  const { trace } = factsOf(caller.head)
  const values = caller.head.headers.map((value) => `header ${value}`)
  return [
    partyOf(session, caller),
    ...(trace === undefined ? [] : [`trace ${traceId(trace)}`]),
    ...values,
  ]
}

/** Returns a key of a session, or else of a client. */
function partyOf(session: string, caller: Caller | undefined): string {
  if (session !== '' || caller === undefined) return `session ${session}`
  return `client ${callerKey(caller)}`
}
