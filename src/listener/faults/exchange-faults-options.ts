import type { RequestHead } from '../../http/headers.ts'
import type { Keeping } from '../../base/room.ts'
import type { ExchangeFacts } from '../../rules/match/call-facts.ts'
import type { FaultListener, FaultRef } from './fault-events.ts'
import type { Call } from '../../mcp/call.ts'
import type { Reply } from '../../mcp/reply.ts'
import type { Plan } from '../../rules/select/plan.ts'
import type { Disturbance } from '../disturbance.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { HttpReply } from './emit/injected-response.ts'
import type { PushStreams } from './source/push-streams.ts'
import type { MessagePlanner } from './source/server-messages.ts'

/** Identifies the fault that causes an effect beyond its call. */
export interface FaultOrigin {
  readonly ref: FaultRef
  /** True when the effect carries a marker. */
  readonly marked: boolean
  /** Aborted when the rule is withdrawn. */
  readonly retired: AbortSignal
}

/** Offers faults effects beyond their exchange. */
export interface ExchangeControl {
  /** Rejects further requests of the session; returns false without a session. */
  expireSession(by: FaultOrigin): boolean
  /** Returns true when a fault or the app has ended the session. */
  hasSessionEnded(): boolean
  /** Resets new connections for `ms` milliseconds. */
  refuseConnections(ms: number, by: FaultOrigin): void
  /** Reports later calls that contain this word. */
  watchFor(word: string): void
}

/** Facts that all faults of one exchange share. */
export interface ExchangeContext {
  readonly facts: ExchangeFacts
  readonly request: RequestHead
  /** The size of the request's body in bytes. */
  readonly requestBytes: number
  /** The largest response that is held for faults that need all of it. */
  readonly maxBody: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly control: ExchangeControl
  /** The call, or else the stream, to which a message of the server belongs. */
  readonly group?: object | undefined
  /** Returns the records of a call, or of all open calls of the exchange, that faults may disturb. */
  readonly disturbancesOf?: ((call: Call | undefined) => readonly Disturbance[]) | undefined
  /** Counts the memory that faults keep for later calls. */
  readonly keeping?: Keeping | undefined
}

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
  readonly listener: FaultListener
  readonly push?: PushStreams | undefined
  /** Plans the messages of the server in the response; undefined when no rule may need them. */
  readonly messagePlanner?: MessagePlanner | undefined
  /** Called when the app's response to a call is complete; undefined stands for all calls. */
  readonly onResponded?: ((call: Call | undefined) => void) | undefined
  /** Called when the request, or the rest of it, is sent to the app. */
  readonly onSent?: (() => void) | undefined
  /** Aborted when the sidecar drains: copies and push streams end then. */
  readonly closing?: AbortSignal | undefined
}

/** The result of the request phase for the exchange. */
export type RequestOutcome =
  | { readonly kind: 'cut'; readonly how: 'rst' | 'fin' }
  | { readonly kind: 'http'; readonly reply: HttpReply }
  /**
   * The calls with these indexes are answered, some of them by these messages, or abandoned; the
   * rest is sent.
   */
  | {
      readonly kind: 'forward'
      readonly responded: ReadonlySet<number>
      readonly replies: readonly Reply[]
      /** The texts of messages that the app gets in addition. */
      readonly repeated: readonly string[]
    }
