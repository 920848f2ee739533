import type { RequestHead } from '../../http/headers.ts'
import type { Call, Transport } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import type { TaskTools } from '../../mcp/task-tools.ts'
import type { Destination } from '../../rules/match/call-facts.ts'
import type { HeaderFaults } from '../../rules/select/header-faults.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { OpenCall } from '../disturbance.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { RedirectedPost } from '../redirected-calls.ts'
import type { ConnectionFaults } from '../outbound/connection-faults.ts'
import type { ExchangeControl, FaultListener } from './exchange-context.ts'
import type { ExchangeFaultsOptions } from './exchange-faults.ts'
import type { Canaries, ExpiredSessions, SessionEffects } from './session-control.ts'

/** The rules of a sidecar, and what their faults report to. */
export interface RuleParts {
  readonly rules: ActiveRules
  /** Undefined where no outgoing connection is carried. */
  readonly connections?: ConnectionFaults | undefined
  /** Returns the listener for the faults of one session's exchanges. */
  readonly listenerOf: (session: string, trace: string | undefined) => FaultListener
  /** Undefined when faults by header are disabled. */
  readonly headerFaults?: HeaderFaults | undefined
  /** Shared by all listeners: an agent may send to one what it read from another. */
  readonly canaries: Canaries
}

/** Bounds of a planner; `strict` rethrows planning errors. */
export interface PlannerLimits {
  readonly maxSessions: number
  /** The largest response that is held for faults that need all of it. */
  readonly maxBody: number
  /** The time for which a response is held; one at the least rate may take longer. */
  readonly holdTimeout: number
  readonly strict: boolean
}

/** The parts of the listener on which faults act. */
export interface PlannerContext extends SessionEffects {
  readonly logger: Logger
  /** The transport of sessions whose responses come on their stream; on stdio HTTP rules are off. */
  readonly streamTransport: Transport
  readonly tasks: TaskTools
  /** The destination of outgoing traffic. */
  readonly outbound: Destination | undefined
  /** Returns the open calls of a session. */
  readonly openIn: (session: string) => readonly OpenCall[]
  readonly memory: MemoryBudget
  /** Aborted when the listener drains or closes: copies and streams end then. */
  readonly closing: AbortSignal
}

/** Configures a planner. */
export interface FaultPlannerOptions extends RuleParts, PlannerLimits, PlannerContext {
  readonly expired: ExpiredSessions
  readonly controlOf: (session: string) => ExchangeControl
  /** Receives planning errors; the exchange continues unless this throws. */
  readonly onError: (error: unknown) => void
}

/** A POST with calls. */
export interface PostedExchange {
  readonly head: RequestHead
  readonly posted: PostedMessages
  /** The key of the session in the table of in-flight requests; empty without a session. */
  readonly session: string
  readonly requestBytes: number
  /** The memory of the calls that the budget has counted. */
  readonly weight: number
  /** By `performance.now()`. */
  readonly receivedAt: number
  /** Called when the request, or the rest of it, is sent to the upstream. */
  readonly onSent: () => void
  readonly disturbancesOf: NonNullable<ExchangeFaultsOptions['disturbancesOf']>
  /** Called when the upstream's response to a call is complete; undefined stands for all calls. */
  readonly onResponded: (call: Call | undefined) => void
  /** The redirected request that this one repeats: its calls are planned already. */
  readonly repeats?: RedirectedPost | undefined
}
