import type { Call } from '../../mcp/call.ts'
import type { Reply } from '../../mcp/reply.ts'
import type { Plan } from '../../rules/select/plan.ts'
import type { FaultListener } from './fault-events.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { HttpReply } from './emit/injected-response.ts'
import type { PushChannel } from './source/push-channel.ts'
import type { PushChainsOf } from './source/pushed-call.ts'
import type { TurnSetting } from './chain/turn-setting.ts'

/** One call with the rules that hit it. */
export interface PlannedCall {
  readonly call: Call
  readonly plan: Plan | undefined
}

/** Plans the rules that want to know how the app answers. */
export type PlanResponse = (status: number) => Plan | undefined

/** One exchange with what was planned for it. */
export interface FaultRunOptions extends TurnSetting {
  /** In the order of the request. */
  readonly calls: readonly PlannedCall[]
  readonly batch: boolean
  /** Of the rules about HTTP. */
  readonly exchangePlan?: Plan | undefined
  /** Asked for the rules about the response's status when there is one. */
  readonly planResponse?: PlanResponse | undefined
  /** What the table of in-flight requests knows the session by. */
  readonly session: string
  /** Answers up to this size are held for faults that need all of them. */
  readonly maxBody: number
  /** For as long, and longer where they come at a fair pace. */
  readonly holdTimeout: number
  /** Undefined for memory without a bound. */
  readonly memory?: MemoryBudget | undefined
  /** How much memory the calls take, as the budget has counted it. */
  readonly weight?: number | undefined
  /** When the request was there, by the program's clock; delays are counted from then on. */
  readonly receivedAt?: number | undefined
  readonly listener: FaultListener
  readonly push?: PushChannel | undefined
  /** Where the faults of calls act that are answered by another connection. */
  readonly lanes?: PushChainsOf | undefined
  /** What the app answers to a call is there; undefined stands for all calls. */
  readonly onResponded?: ((call: Call | undefined) => void) | undefined
  /** The request, or what is left of it, goes to the app now. */
  readonly onSent?: (() => void) | undefined
  /** Aborted when the sidecar drains: what is under way beside the exchanges ends. */
  readonly closing?: AbortSignal | undefined
}

/** What the request phase comes to for the exchange. */
export type RequestOutcome =
  | { readonly kind: 'cut'; readonly how: 'rst' | 'fin' }
  | { readonly kind: 'http'; readonly reply: HttpReply }
  /** The calls at these places are answered, some of them by these messages, or given up; the rest goes on. */
  | {
      readonly kind: 'forward'
      readonly responded: ReadonlySet<number>
      readonly replies: readonly Reply[]
    }
