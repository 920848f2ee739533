import type { ByteBudget } from '../../base/byte-budget.ts'
import { isRecord } from '../../base/values.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import type { RequestHead } from '../../http/headers.ts'
import { RESOURCE_UPDATED, toolOf, type Call, type Transport } from '../../mcp/call.ts'
import { progressTokenOf } from '../../mcp/json-rpc.ts'
import type { OtherMessage, PostedMessages } from '../../mcp/classify.ts'
import { type Plan, planCall } from '../../rules/select/plan.ts'
import { isUntouchable } from '../../rules/select/inactive-reason.ts'
import { sideFaultsOf, type SideFaults, type OpenCall } from '../side-faults.ts'
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

/** A request of a server, and the calls that wait for its response. */
interface AskedRequest {
  readonly method: string
  /** The tool of the call during which it came, if known. */
  readonly tool: string | undefined
  readonly sideFaults: readonly SideFaults[]
}

/** Remembers the requests that servers sent, by session and id. */
export class AskedRequests {
  readonly #asked = new Map<string, AskedRequest>()

  /**
   * Returns the messages of a POST beside its calls, responses with the method of their request,
   * and the calls that each may disturb.
   */
  named({ others }: PostedMessages, session: string): readonly AskedMessage[] {
    return others.map((message) => {
      const key = keyOf(session, message.id)
      const asked = message.kind === 'response' ? this.#asked.get(key) : undefined
      if (asked === undefined) return { call: message, sideFaults: undefined }
      const { method, tool, sideFaults } = asked
      return { call: { ...message, method, tool }, sideFaults }
    })
  }

  add(
    session: string,
    { id, method, name: tool }: Call,
    sideFaults: () => readonly SideFaults[],
  ): void {
    if (session === '') return
    const key = keyOf(session, id)
    if (key.length + method.length + (tool?.length ?? 0) > MAX_ID) return
    this.#asked.set(key, { method, tool, sideFaults: sideFaults() })
    if (this.#asked.size > MAX_REQUESTS) this.#asked.delete(this.#asked.keys().next().value!)
  }
}

/** A message beside the calls of a POST, and the calls that it may disturb. */
type AskedMessage = Pick<PlannedCall, 'sideFaults'> & { readonly call: OtherMessage }

/** Plans the messages that a server sends in the response to one request. */
export class StreamPlanner implements MessagePlanner {
  readonly #parts: FaultPlannerOptions
  readonly #asked: AskedRequests
  readonly #head: RequestHead
  readonly #transport: Transport
  readonly #known: RequestFacts | undefined

  constructor(
    parts: FaultPlannerOptions,
    asked: AskedRequests,
    head: RequestHead,
    transport: Transport,
    known?: RequestFacts,
  ) {
    this.#parts = parts
    this.#asked = asked
    this.#head = head
    this.#transport = transport
    this.#known = known
  }

  get isActive(): boolean {
    return this.#parts.rules.ruleSet.index.readsServer
  }

  get memory(): ByteBudget {
    const { memory } = this.#parts
    return { take: (bytes) => memory.add(bytes), give: (bytes) => memory.give(bytes) }
  }

  plan(message: ServerMessage, source: MessageSource): CallInjection | undefined {
    if (!this.isActive) return undefined
    const { session: key = factsOf(this.#head).session ?? '' } = source
    const { tasks } = this.#parts
    const facts = this.#known ?? requestFacts(this.#parts, this.#head, key)
    const session = facts.session ?? ''
    const open = source.sideFaults === undefined ? this.#openOf(session, message) : []
    const isCertain = open.length === 1 && progressTokenOf(message) !== undefined
    const owner = source.call ?? (isCertain ? open[0]!.call : undefined)
    const tool = tasks.toolOf(session, message.method, message.params) ?? toolOf(owner)
    const version = facts.protocolVersion ?? source.call?.protocolVersion
    const call = callOf(message, this.#transport, version, tool)
    const sideFaults = (): readonly SideFaults[] => source.sideFaults?.() ?? sideFaultsOf(open)
    if (message.kind === 'request') this.#asked.add(session, call, sideFaults)
    try {
      const plan = this.#planOf(call, facts, tool, open)
      if (plan === undefined) return undefined
      const context = {
        facts,
        exchange: { head: this.#head, requestBytes: 0 },
        parts: this.#parts,
        control: this.#parts.controlOf(session),
        listener: this.#parts.listenerOf(session, factsOf(this.#head).trace),
        group: owner ?? this,
      }
      return openInjection({ call, plan, sideFaults: sideFaults() }, context, new Stop())
    } catch (error) {
      this.#parts.onError(error)
      return undefined
    }
  }

  #planOf(
    call: Call,
    facts: RequestFacts,
    tool: string | undefined,
    open: readonly OpenCall[],
  ): Plan | undefined {
    const { ruleSet, states, clock } = this.#parts.rules
    // A message without a known call may belong to a call of a denied tool.
    const mayBe = tool === undefined ? open.map((each) => each.call) : undefined
    const untouchable =
      facts.untouchable === true || (mayBe !== undefined && isUntouchable(states, mayBe, false))
    const known = untouchable ? { ...facts, untouchable } : facts
    return acting(planCall(ruleSet, callFacts(known, call), states, clock))
  }

  /** Returns the open calls to which a message on the stream of a session may belong. */
  #openOf(session: string, message: ServerMessage): readonly OpenCall[] {
    const open = session === '' ? [] : this.#parts.openIn(session)
    const token = progressTokenOf(message)
    return token === undefined ? open : open.filter(({ call }) => call.progressToken === token)
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
