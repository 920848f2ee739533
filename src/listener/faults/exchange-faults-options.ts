import type { ExchangeContext } from './exchange-context.ts'
import type { CallFaults } from './call-faults.ts'
import type { Call } from '../../mcp/call.ts'
import type { Reply } from '../../mcp/reply.ts'
import type { Plan } from '../../rules/select/plan.ts'
import type { Disturbance } from '../disturbance.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { HttpReply } from './emit/injected-response.ts'
import type { PushStreams } from './source/push-streams.ts'
import type { MessagePlanner } from './source/server-messages.ts'

/** A call with the rules that matched. */
export interface PlannedCall {
  readonly call: Call
  readonly plan: Plan | undefined
  /** The calls whose outcomes depend on a message that is no call. */
  readonly disturbs?: readonly Disturbance[] | undefined
}

/** Plans the rules about the response's status. */
export type PlanResponse = (status: number) => Plan | undefined

/** Configures the faults of one exchange. */
export interface ExchangeFaultsOptions extends ExchangeContext {
  /** In the order of the request. */
  readonly calls: readonly PlannedCall[]
  /** The messages of the request that are no calls, in its order; all of them or none. */
  readonly messages?: readonly PlannedCall[] | undefined
  readonly batch: boolean
  /** The plan of the HTTP rules. */
  readonly exchangePlan?: Plan | undefined
  /** Called when the response begins. */
  readonly planResponse?: PlanResponse | undefined
  /** The key of the session in the table of in-flight requests. */
  readonly session: string
  /** The time for which a response is held; one at the least rate may take longer. */
  readonly holdTimeout: number
  /** Unbounded by default. */
  readonly memory?: MemoryBudget | undefined
  /** The memory of the calls that the budget has counted. */
  readonly weight?: number | undefined
  /** The arrival of the request by `performance.now()`, from which delays are counted. */
  readonly receivedAt?: number | undefined
  readonly push?: PushStreams | undefined
  /** Plans the messages of the server in the response; undefined when no rule may need them. */
  readonly messagePlanner?: MessagePlanner | undefined
  /** Called when the upstream's response to a call is complete; undefined stands for all calls. */
  readonly onResponded?: ((call: Call | undefined) => void) | undefined
  /** Aborted when the sidecar drains: copies and push streams end then. */
  readonly closing?: AbortSignal | undefined
}

/** The faults of one exchange, by their parts. */
export interface ExchangeParts {
  readonly options: ExchangeFaultsOptions
  readonly calls: readonly CallFaults[]
  /** The faults of the messages that are no calls. */
  readonly messages: readonly CallFaults[]
  /** The calls and other messages, by the indexes of `CallTexts`. */
  readonly posted: readonly CallFaults[]
  /** True when several calls share the exchange: one call's fault must not affect the others. */
  readonly shared: boolean
}

/** The result of the request phase for the exchange. */
export type RequestOutcome =
  | { readonly kind: 'cut'; readonly how: 'rst' | 'fin' }
  | { readonly kind: 'http'; readonly reply: HttpReply }
  /**
   * The calls with these indexes have responses, some of them these messages, or are abandoned; the
   * rest is sent.
   */
  | {
      readonly kind: 'forward'
      readonly responded: readonly number[]
      readonly replies: readonly Reply[]
      /** The texts of messages that the upstream gets in addition. */
      readonly repeated: readonly string[]
    }
