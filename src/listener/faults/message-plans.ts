import type { Room } from '../../base/room.ts'
import { isRecord } from '../../base/values.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import type { RequestHead } from '../../http/headers.ts'
import { RESOURCE_UPDATED, toolOf, type Call, type Transport } from '../../mcp/call.ts'
import { progressTokenOf } from '../../mcp/json-rpc.ts'
import type { OtherMessage, PostedMessages } from '../../mcp/classify.ts'
import { planCall } from '../../rules/select/plan.ts'
import { isUntouchable } from '../../rules/select/restraint.ts'
import { disturbancesOf, type Disturbance, type OpenCall } from '../disturbance.ts'
import { type CallInjection, openInjection, type PlannedCall } from './call-injection.ts'
import {
  acting,
  callFacts,
  type FaultPlannerOptions,
  requestFacts,
  type RequestFacts,
} from './planner-options.ts'
import { Stop } from './chain/stop.ts'
import {
  type MessagePlanner,
  type MessageSource,
  type ServerMessage,
} from './source/server-messages.ts'

/** The most requests of servers whose methods are remembered. */
const MAX_REQUESTS = 10_000
/** Longer ids and names are not remembered, so that the memory is bounded. */
const MAX_ID = 256

/** Plans the faults of messages that are no calls of the client. */
export class MessagePlans {
  readonly #parts: FaultPlannerOptions
  /** The requests that servers sent, by session and id. */
  readonly #asked = new Map<string, AskedRequest>()

  constructor(parts: FaultPlannerOptions) {
    this.#parts = parts
  }

  /**
   * Returns the messages of a POST that are no calls, responses with the method of their request,
   * and the calls that each may disturb.
   */
  of({ others }: PostedMessages, session: string): readonly Omit<PlannedCall, 'plan'>[] {
    return others.map((message) => ({
      call: this.#named(message, session),
      disturbs: this.#askedBy(message, session)?.disturbs,
    }))
  }

  /** Returns the messages of a POST, responses with the method of their request. */
  named(posted: PostedMessages, session: string): PostedMessages {
    return { ...posted, others: posted.others.map((message) => this.#named(message, session)) }
  }

  #named(message: OtherMessage, session: string): OtherMessage {
    const asked = this.#askedBy(message, session)
    return asked === undefined ? message : { ...message, method: asked.method, tool: asked.tool }
  }

  #askedBy({ kind, id }: OtherMessage, session: string): AskedRequest | undefined {
    return kind === 'response' ? this.#asked.get(keyOf(session, id)) : undefined
  }

  /** Returns the planner of the messages on a stream that a client opened by GET. */
  ofStream(head: RequestHead): MessagePlanner {
    const isAnnounced = factsOf(head).session === undefined
    const transport = isAnnounced ? this.#parts.streamTransport : 'streamable-http'
    return this.planner(head, transport)
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
    source: MessageSource,
  ): CallInjection | undefined {
    const { rules, controlOf, listenerOf, tasks } = this.#parts
    const session = facts.session ?? ''
    const open = source.disturbs === undefined ? this.#openOf(session, message) : []
    const isCertain = open.length === 1 && progressTokenOf(message) !== undefined
    const owner = source.call ?? (isCertain ? open[0]!.call : undefined)
    const named = tasks.toolOf(session, message.method, message.params) ?? toolOf(owner)
    const version = facts.protocolVersion ?? source.call?.protocolVersion
    const call = callOf(message, transport, version, named)
    const disturbs = (): readonly Disturbance[] => source.disturbs?.() ?? disturbancesOf(open)
    if (message.kind === 'request') this.#remember(session, call, disturbs)
    try {
      const { ruleSet, states, clock } = rules
      // A message without a known call may belong to a call of a denied tool.
      const untouchable =
        facts.untouchable === true ||
        (named === undefined &&
          isUntouchable(
            states,
            open.map((each) => each.call),
            false,
          ))
      const known = untouchable ? { ...facts, untouchable } : facts
      const plan = acting(planCall(ruleSet, callFacts(known, call), states, clock))
      if (plan === undefined) return undefined
      const context = {
        facts,
        exchange: { head: request, requestBytes: 0 },
        parts: this.#parts,
        control: controlOf(session),
        listener: listenerOf(session, factsOf(request).trace),
        group: owner ?? source.stream,
      }
      return openInjection({ call, plan, disturbs: disturbs() }, context, new Stop())
    } catch (error) {
      this.#parts.onError(error)
      return undefined
    }
  }

  /** Returns the open calls to which a message on the stream of a session may belong. */
  #openOf(session: string, message: ServerMessage): readonly OpenCall[] {
    const open = session === '' ? [] : this.#parts.openIn(session)
    const token = progressTokenOf(message)
    return token === undefined ? open : open.filter(({ call }) => call.progressToken === token)
  }

  #remember(
    session: string,
    { id, method, name: tool }: Call,
    disturbs: () => readonly Disturbance[],
  ): void {
    if (session === '') return
    const key = keyOf(session, id)
    if (key.length + method.length + (tool?.length ?? 0) > MAX_ID) return
    this.#asked.set(key, { method, tool, disturbs: disturbs() })
    if (this.#asked.size > MAX_REQUESTS) this.#asked.delete(this.#asked.keys().next().value!)
  }
}

/** A request of a server, and the calls that wait for its response. */
interface AskedRequest {
  readonly method: string
  /** The tool of the call during which it came, if known. */
  readonly tool: string | undefined
  readonly disturbs: readonly Disturbance[]
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

  plan(message: ServerMessage, source: MessageSource): CallInjection | undefined {
    if (!this.isActive) return undefined
    const { session = factsOf(this.#head).session ?? '' } = source
    const { sessions, outbound } = this.#parts
    const facts =
      this.#known ?? requestFacts(sessions, this.#head, session, undefined, false, outbound)
    const from = { ...source, stream: this }
    return this.#plans.plan(message, this.#head, facts, this.#transport, from)
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
