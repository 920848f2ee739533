import type { Call } from '../../mcp/call.ts'
import type { PostedMessages } from '../../mcp/classify.ts'
import { headerValue, targetPath, type RequestHead } from '../../mcp/http.ts'
import type { Sessions } from '../../mcp/sessions.ts'
import type { ExchangeFacts } from '../../rules/call-facts.ts'
import { finishPlan, planCall, planHttp, type Plan } from '../../rules/plan.ts'
import type { RulesInForce } from '../../rules/rules-in-force.ts'
import type { FaultListener } from './fault-events.ts'
import { FaultRun, type PlannedCall } from './fault-run.ts'
import type { PushChannel } from './push-channel.ts'
import type { ExpiredSessions } from './expired-sessions.ts'
import type { Behalf, ExchangeHost } from './turn-setting.ts'

/** What faults are planned with. */
export interface FaultPlannerParts {
  readonly rules: RulesInForce
  readonly sessions: Sessions
  readonly listener: FaultListener
  readonly expired: ExpiredSessions
  readonly hostOf: (session: string) => ExchangeHost
  readonly push: PushChannel | undefined
  /** Answers up to this size are held for faults that need all of them. */
  readonly maxBody: number
  /** Told when rules cannot be applied; the exchange passes, unless this throws. */
  readonly broke: (error: unknown) => void
}

/** Asks the rules in force what is to become of an exchange. */
export class FaultPlanner {
  readonly #parts: FaultPlannerParts

  constructor(parts: FaultPlannerParts) {
    this.#parts = parts
  }

  /** False as long as nothing can be hit. */
  get hasRules(): boolean {
    return this.#parts.rules.ruleSet.rules.length > 0
  }

  /** On whose behalf everything of a session is turned away; undefined when it is not. */
  turnsAway(session: string): Behalf | undefined {
    return this.#parts.expired.of(session)
  }

  /** An exchange was turned away on behalf of a rule. */
  turnedAway({ place }: Behalf, calls: readonly Call[]): void {
    const told = { ...place, effect: 'expired', delayMs: undefined, first: true }
    if (calls.length === 0) this.#parts.listener.injected({ ...told, call: undefined })
    for (const call of calls) this.#parts.listener.injected({ ...told, call })
  }

  /** The faults of a POST that carries calls; undefined when no rule hits. */
  forCalls(
    head: RequestHead,
    posted: PostedMessages,
    session: string,
    requestBytes: number,
    onSent: () => void,
  ): FaultRun | undefined {
    try {
      return this.#forCalls(head, posted, session, requestBytes, onSent)
    } catch (error) {
      this.#parts.broke(error)
      return undefined
    }
  }

  /** The faults of an exchange that carries no call; undefined when no rule about HTTP hits. */
  forExchange(head: RequestHead, requestBytes: number): FaultRun | undefined {
    if (!this.#parts.rules.ruleSet.index.hasHttp) return undefined
    try {
      return this.#forExchange(head, requestBytes)
    } catch (error) {
      this.#parts.broke(error)
      return undefined
    }
  }

  #forCalls(
    head: RequestHead,
    posted: PostedMessages,
    session: string,
    requestBytes: number,
    onSent: () => void,
  ): FaultRun | undefined {
    const { ruleSet, states, clock } = this.#parts.rules
    const known = session === '' ? undefined : this.#parts.sessions.get(session)
    const facts = {
      headers: head.headers,
      session: session === '' ? undefined : session,
      client: posted.client ?? known?.client,
      revision: known?.revision,
      http: { method: head.method, path: targetPath(head.target) },
    }
    const exchangePlan = acting(planHttp(ruleSet, facts, states, clock))
    let planned: PlannedCall[] | undefined
    for (const [index, call] of posted.calls.entries()) {
      const plan = acting(planCall(ruleSet, { ...facts, call }, states, clock))
      if (plan === undefined) continue
      planned ??= posted.calls.map((each) => ({ call: each, plan: undefined }))
      planned[index] = { call, plan }
    }
    if (exchangePlan === undefined && planned === undefined) return undefined
    const calls = planned ?? posted.calls.map((call) => ({ call, plan: undefined }))
    return this.#run(head, facts, {
      calls,
      exchangePlan,
      requestBytes,
      batch: posted.batch,
      onSent,
    })
  }

  #forExchange(head: RequestHead, requestBytes: number): FaultRun | undefined {
    const { ruleSet, states, clock } = this.#parts.rules
    const session = headerValue(head.headers, 'mcp-session-id') ?? ''
    const known = session === '' ? undefined : this.#parts.sessions.get(session)
    const facts: ExchangeFacts = {
      headers: head.headers,
      session: session === '' ? undefined : session,
      client: known?.client,
      http: { method: head.method, path: targetPath(head.target) },
    }
    const exchangePlan = acting(planHttp(ruleSet, facts, states, clock))
    if (exchangePlan === undefined) return undefined
    return this.#run(head, facts, { calls: [], exchangePlan, requestBytes, batch: false })
  }

  #run(
    request: RequestHead,
    facts: ExchangeFacts,
    planned: {
      readonly calls: readonly PlannedCall[]
      readonly exchangePlan: Plan | undefined
      readonly requestBytes: number
      readonly batch: boolean
      readonly onSent?: () => void
    },
  ): FaultRun {
    const { rules, listener, hostOf, push, maxBody } = this.#parts
    const session = facts.session ?? ''
    return new FaultRun({
      ...planned,
      request,
      facts,
      session,
      now: rules.clock,
      host: hostOf(session),
      maxBody,
      listener,
      push,
    })
  }
}

/** A plan that has something to do. One of shadow hits alone is over with being counted. */
function acting(plan: Plan | undefined): Plan | undefined {
  if (plan === undefined || !plan.shadow) return plan
  finishPlan(plan)
  return undefined
}
