import type { Room } from '../../base/room.ts'
import { isRecord } from '../../base/values.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import type { RequestHead } from '../../http/headers.ts'
import { RESOURCE_UPDATED, type Call, type Transport } from '../../mcp/call.ts'
import { SERVER_REQUESTS, type PostedMessages } from '../../mcp/classify.ts'
import { planCall } from '../../rules/select/plan.ts'
import { CallFaults } from './call-faults.ts'
import type { FaultPlannerOptions } from './fault-planner.ts'
import { acting, callFacts, requestFacts, type RequestFacts } from './planned-facts.ts'
import { Stop } from './chain/stop.ts'
import type { MessagePlanner, ServerMessage } from './source/server-messages.ts'

/** The most requests of servers whose methods are remembered. */
const MAX_REQUESTS = 10_000
/** Longer ids are not remembered, so that the memory is bounded. */
const MAX_ID = 256

/** Plans the faults of messages that are no calls of the client. */
export class MessagePlans {
  readonly #parts: FaultPlannerOptions
  /** The methods of requests that servers sent, by session and id. */
  readonly #methods = new Map<string, string>()

  constructor(parts: FaultPlannerOptions) {
    this.#parts = parts
  }

  /** Returns the messages of a POST that are no calls; responses with the method that they answer. */
  of({ others }: PostedMessages, session: string): readonly Call[] {
    return others.map((message) => {
      if (message.kind !== 'response') return message
      const method = this.#methods.get(keyOf(session, message.id))
      return method === undefined ? message : { ...message, method }
    })
  }

  /** Returns the planner of the messages that a server sends in the response to a request. */
  planner(head: RequestHead, transport: Transport, known?: RequestFacts): MessagePlanner {
    return new StreamPlanner(this, this.#parts, head, transport, known)
  }

  /** Plans the faults of one message of a server; undefined when no rule matches. */
  plan(
    message: ServerMessage,
    request: RequestHead,
    facts: RequestFacts,
    transport: Transport,
    tool: string | undefined,
  ): CallFaults | undefined {
    const { rules, memory, controlOf, listenerOf, tasks } = this.#parts
    const session = facts.session ?? ''
    const named = tasks.notified(session, message.method, message.params) ?? tool
    const call = callOf(message, transport, facts.protocolVersion, named)
    if (message.kind === 'request') this.#remember(session, call)
    try {
      const { ruleSet, states, clock } = rules
      const plan = acting(planCall(ruleSet, callFacts(facts, call), states, clock))
      if (plan === undefined) return undefined
      const context = {
        facts,
        request,
        requestBytes: 0,
        now: clock,
        control: controlOf(session),
        keeping: memory,
        maxBody: this.#parts.maxBody,
        listener: listenerOf(session, factsOf(request).trace),
      }
      return new CallFaults(call, plan, context, new Stop())
    } catch (error) {
      this.#parts.onError(error)
      return undefined
    }
  }

  #remember(session: string, { id, method }: Call): void {
    if (session === '' || !SERVER_REQUESTS.includes(method)) return
    const key = keyOf(session, id)
    if (key.length > MAX_ID) return
    this.#methods.set(key, method)
    if (this.#methods.size > MAX_REQUESTS) {
      this.#methods.delete(this.#methods.keys().next().value!)
    }
  }
}

/** Plans the messages that a server sends in the response to one request. */
class StreamPlanner implements MessagePlanner {
  readonly #plans: MessagePlans
  readonly #parts: FaultPlannerOptions
  readonly #head: RequestHead
  readonly #transport: Transport
  readonly #known: RequestFacts | undefined

  constructor(
    plans: MessagePlans,
    parts: FaultPlannerOptions,
    head: RequestHead,
    transport: Transport,
    known: RequestFacts | undefined,
  ) {
    this.#plans = plans
    this.#parts = parts
    this.#head = head
    this.#transport = transport
    this.#known = known
  }

  get isActive(): boolean {
    return this.#parts.rules.ruleSet.index.readsServer
  }

  get memory(): Room {
    const { memory } = this.#parts
    return { take: (bytes) => memory.add(bytes), give: (bytes) => memory.give(bytes) }
  }

  plan(
    message: ServerMessage,
    session = factsOf(this.#head).session ?? '',
    tool?: string,
  ): CallFaults | undefined {
    if (!this.isActive) return undefined
    const facts =
      this.#known ?? requestFacts(this.#parts.sessions, this.#head, session, undefined, false)
    return this.#plans.plan(message, this.#head, facts, this.#transport, tool)
  }
}

function keyOf(session: string, id: Call['id']): string {
  return `${JSON.stringify(id)} ${session}`
}

function callOf(
  message: ServerMessage,
  transport: Transport,
  protocolVersion: string | undefined,
  tool: string | undefined,
): Call {
  const { kind, method, params } = message
  const uri = method === RESOURCE_UPDATED && isRecord(params) ? params['uri'] : undefined
  return {
    id: kind === 'request' ? message.id : undefined,
    method,
    name: method === RESOURCE_UPDATED ? (typeof uri === 'string' ? uri : undefined) : tool,
    params,
    transport,
    protocolVersion,
    progressToken: undefined,
    kind: kind === 'notification' ? kind : undefined,
    from: 'server',
  }
}
