import type { Call, ClientInfo } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import { headerValue, targetPath, type RequestHead } from '../../http/headers.ts'
import type { Sessions } from '../../mcp/sessions.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import type { CallFacts, ExchangeFacts } from '../../rules/match/call-facts.ts'
import { withHeaderFaults, type HeaderFaults } from '../../rules/select/header-faults.ts'
import {
  finishPlan,
  mayHit,
  planCall,
  planHttp,
  planHttpResponse,
  type Plan,
} from '../../rules/select/plan.ts'
import type { RuleSet } from '../../rules/match/rule-set.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { RedirectedPost } from '../redirected-calls.ts'
import type { FaultListener } from './fault-events.ts'
import type { FaultRunOptions, PlanResponse, PlannedCall } from './fault-run-options.ts'
import { FaultRun } from './fault-run.ts'
import type { PushChannel } from './source/push-channel.ts'
import type { PushChainsOf } from './source/pushed-call.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { ExpiredSessions } from './expired-sessions.ts'
import type { Behalf, ExchangeHost } from './chain/turn-setting.ts'

/** What faults are planned with. */
export interface FaultPlannerParts {
  readonly rules: ActiveRules
  readonly sessions: Sessions
  /** Told of the faults of one session's exchanges. */
  readonly listenerOf: (session: string, trace: string | undefined) => FaultListener
  /** Undefined where callers may ask for nothing. */
  readonly headerFaults: HeaderFaults | undefined
  readonly expired: ExpiredSessions
  readonly hostOf: (session: string) => ExchangeHost
  readonly push: (PushChannel & PushChainsOf) | undefined
  /** Aborted when the listener drains or closes: what outlives its exchange ends then. */
  readonly closing: AbortSignal
  /** Answers up to this size are held for faults that need all of them. */
  readonly maxBody: number
  /** For as long, and longer where they come at a fair pace. */
  readonly holdTimeout: number
  readonly memory: MemoryBudget
  /** Told when rules cannot be applied; the exchange passes, unless this throws. */
  readonly broke: (error: unknown) => void
}

/** A POST that carries calls. */
export interface PostedExchange {
  readonly head: RequestHead
  readonly posted: PostedMessages
  /** What the table of in-flight requests knows the session by; empty where there is none. */
  readonly session: string
  readonly requestBytes: number
  /** How much memory its calls take, as the budget has counted it. */
  readonly weight: number
  /** By the program's clock. */
  readonly receivedAt: number
  /** The request, or what is left of it, goes to the app now. */
  readonly onSent: () => void
  /** What the app answers to a call is there; undefined stands for all calls. */
  readonly onResponded: (call: Call | undefined) => void
  /** The redirected request that this one repeats: its calls have been planned. */
  readonly repeats?: RedirectedPost | undefined
}

type OwnFacts = ExchangeFacts & Pick<CallFacts, 'protocolVersion'>

type Planned = Pick<
  FaultRunOptions,
  | 'calls'
  | 'exchangePlan'
  | 'planResponse'
  | 'requestBytes'
  | 'weight'
  | 'receivedAt'
  | 'batch'
  | 'onSent'
  | 'onResponded'
>

/** Asks the active rules what is to become of an exchange. */
export class FaultPlanner {
  readonly #parts: FaultPlannerParts

  constructor(parts: FaultPlannerParts) {
    this.#parts = parts
  }

  /** False when nothing can hit any of the calls. */
  mayHit({ headers }: RequestHead, calls: readonly Call[]): boolean {
    const { rules, headerFaults } = this.#parts
    if (headerFaults !== undefined) return true
    const { ruleSet } = rules
    try {
      for (const call of calls) if (mayHit(ruleSet, call, headers)) return true
    } catch (error) {
      this.#parts.broke(error)
    }
    return false
  }

  /** On whose behalf everything of a session is turned away; undefined when it is not. */
  expiredBy(session: string): Behalf | undefined {
    return this.#parts.expired.of(session)
  }

  /** An exchange was turned away on behalf of a rule. */
  reportExpired(
    { place }: Behalf,
    session: string,
    calls: readonly Call[],
    trace: string | undefined,
  ): void {
    const listener = this.#parts.listenerOf(session, trace)
    const told = { ...place, effect: 'expired', delayMs: undefined, first: true }
    if (calls.length === 0) listener.injected({ ...told, call: undefined })
    for (const call of calls) listener.injected({ ...told, call })
  }

  /** The faults of a POST that carries calls; undefined when no rule hits. */
  forCalls(exchange: PostedExchange): FaultRun | undefined {
    try {
      return this.#forCalls(exchange)
    } catch (error) {
      exchange.repeats?.faults?.unfollowed()
      this.#parts.broke(error)
      return undefined
    }
  }

  /** The faults of an exchange that carries no call; undefined when no rule about HTTP hits. */
  forExchange(head: RequestHead, requestBytes: number, unread = false): FaultRun | undefined {
    const { hasHttp, hasHttpResponse } = this.#parts.rules.ruleSet.index
    if (!hasHttp && !hasHttpResponse) return undefined
    try {
      return this.#forExchange(head, requestBytes, unread)
    } catch (error) {
      this.#parts.broke(error)
      return undefined
    }
  }

  #forCalls(exchange: PostedExchange): FaultRun | undefined {
    const { head, posted, session, requestBytes, weight, receivedAt, repeats, ...told } = exchange
    const { ruleSet, states, clock } = this.#parts.rules
    const { client } = posted
    const isDenied = states.deniesAny(posted.calls)
    const facts = this.#facts(head, session, client, isDenied)
    const seen = repeats && this.#facts(repeats.head, session, client, isDenied)
    const exchangePlan = acting(planHttp(ruleSet, facts, states, clock, seen))
    const planned =
      repeats === undefined ? this.#planCalls(ruleSet, facts, posted.calls) : undefined
    const planResponse = this.#planResponse(ruleSet, facts)
    if (repeats?.faults !== undefined) {
      repeats.faults.repeated(exchangePlan, planResponse, receivedAt)
      return repeats.faults
    }
    if (exchangePlan === undefined && planned === undefined && planResponse === undefined) {
      return undefined
    }
    const calls = planned ?? posted.calls.map((call) => ({ call, plan: undefined }))
    const plans = { calls, exchangePlan, planResponse, batch: posted.batch }
    return this.#run(head, facts, { ...plans, requestBytes, weight, receivedAt, ...told })
  }

  #forExchange(head: RequestHead, requestBytes: number, unread: boolean): FaultRun | undefined {
    const { ruleSet, states, clock } = this.#parts.rules
    const session = headerValue(head.headers, 'mcp-session-id') ?? ''
    // A body that is not read may hold any call.
    const facts = this.#facts(head, session, undefined, unread && states.deniesTools)
    const exchangePlan = acting(planHttp(ruleSet, facts, states, clock))
    const planResponse = this.#planResponse(ruleSet, facts)
    if (exchangePlan === undefined && planResponse === undefined) return undefined
    const plans = { calls: [], exchangePlan, planResponse, batch: false }
    return this.#run(head, facts, { requestBytes, ...plans })
  }

  /** Rules about the status can only be asked when the response begins. */
  #planResponse(ruleSet: RuleSet, facts: ExchangeFacts): PlanResponse | undefined {
    if (!ruleSet.index.hasHttpResponse) return undefined
    const { states, clock } = this.#parts.rules
    return (status) => acting(planHttpResponse(ruleSet, facts, status, states, clock))
  }

  #facts(
    head: RequestHead,
    session: string,
    client: ClientInfo | undefined,
    untouchable: boolean,
  ): OwnFacts {
    const known = session === '' ? undefined : this.#parts.sessions.get(session)
    return {
      headers: head.headers,
      session: session === '' ? undefined : session,
      client: client ?? known?.client,
      protocolVersion: known?.protocolVersion,
      http: { method: head.method, path: targetPath(head.target) },
      untouchable,
    }
  }

  #planCalls(
    ruleSet: RuleSet,
    facts: OwnFacts,
    calls: readonly Call[],
  ): readonly PlannedCall[] | undefined {
    let planned: PlannedCall[] | undefined
    for (let index = 0; index < calls.length; index++) {
      const call = calls[index]!
      const plan = acting(this.#planCall(ruleSet, ofCall(facts, call)))
      if (plan === undefined) continue
      planned ??= calls.map((each) => ({ call: each, plan: undefined }))
      planned[index] = { call, plan }
    }
    return planned
  }

  #planCall(ruleSet: RuleSet, facts: CallFacts): Plan | undefined {
    const { rules, headerFaults } = this.#parts
    const plan = planCall(ruleSet, facts, rules.states, rules.clock)
    if (headerFaults === undefined) return plan
    return withHeaderFaults(plan, headerFaults.plan(ruleSet, facts, rules.clock))
  }

  #run(request: RequestHead, facts: ExchangeFacts, planned: Planned): FaultRun {
    const { rules, listenerOf, hostOf, push, closing, maxBody, holdTimeout, memory } = this.#parts
    const session = facts.session ?? ''
    return new FaultRun({
      ...planned,
      request,
      facts,
      session,
      now: rules.clock,
      host: hostOf(session),
      maxBody,
      holdTimeout,
      keeping: memory,
      memory,
      listener: listenerOf(session, factsOf(request).trace),
      push,
      lanes: push,
      closing,
    })
  }
}

/** Member by member: every call that a rule may hit comes by here, and a spread takes ten times as long. */
function ofCall(facts: OwnFacts, call: Call): CallFacts {
  const { headers, session, client, protocolVersion, http, untouchable } = facts
  return { headers, session, client, protocolVersion, http, untouchable, call }
}

/** A plan that has something to do. One of dry-run hits alone is over with being counted. */
function acting(plan: Plan | undefined): Plan | undefined {
  if (plan === undefined || !plan.dryRun) return plan
  finishPlan(plan)
  return undefined
}
