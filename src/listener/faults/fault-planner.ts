import type { FalseUse } from '../falsified/false-values.ts'
import type { Caller } from '../../http/caller.ts'
import { type Call, RESOURCE_UPDATED, toolOf, type Transport } from '../../mcp/call.ts'
import type { PostedMessages, OtherMessage } from '../../mcp/classify.ts'
import { headerValue, type RequestHead } from '../../http/headers.ts'
import type { ResponseSink, Transfer } from '../../http/transfer.ts'
import { type Message, progressTokenOf } from '../../mcp/json-rpc.ts'
import { factsOf } from '../../mcp/request-facts.ts'
import { isUntouchable } from '../../rules/select/inactive-reason.ts'
import { withHeaderFaults } from '../../rules/select/header-faults.ts'
import {
  mayMatch,
  planCall,
  planHttp,
  planHttpResponse,
  type Plan,
} from '../../rules/select/plan.ts'
import type { Outgoing, Service } from '../layers/service.ts'
import type { FaultOrigin } from './exchange-context.ts'
import { type PlannedCall, type CallInjection, openInjection } from './call-injection.ts'
import { ExchangeFaults, type PlanResponse, repeated } from './exchange-faults.ts'
import {
  acting,
  askerOf,
  callFacts,
  keysOf,
  type FaultPlannerOptions,
  type PlannerContext,
  type PlannedRequest,
  requestFacts,
  type RequestFacts,
  type RuleParts,
  withTools,
} from './planner-options.ts'
import { unfollowed } from './call-outcome.ts'
import { SessionControl } from './session-control.ts'
import { FaultedTransfer } from './source/faulted-upstream.ts'
import type { MessagePlanner, ServerMessage } from './source/server-messages.ts'
import type { ByteBudget } from '../../base/byte-budget.ts'
import { isRecord } from '../../base/values.ts'
import { sideFaultsOf, type SideFaults, type OpenCall } from '../side-faults.ts'
import { Stop } from './chain/stop.ts'

/** Configures the faults of a sidecar. */
export interface FaultParts extends RuleParts {
  /** Passed in, so that a sidecar without rules does not load the planner. */
  readonly createPlanner: typeof createPlanner
}

/** Creates the planner of one listener. */
export function createPlanner(parts: RuleParts, context: PlannerContext): FaultPlanner {
  parts.falseValues.bound(context.memory)
  return new FaultPlanner({
    ...parts,
    ...context,
    now: parts.rules.clock,
    control: new SessionControl(context.maxSessions, parts, context),
    onError: (error) => {
      if (context.strict) throw error
      context.logger.error(
        { err: error },
        'cannot apply the rules; forwarding the exchange without faults',
      )
    },
  })
}

const NOTHING_POSTED: PostedMessages = {
  kind: 'messages',
  batch: false,
  calls: [],
  others: [],
  protocolVersion: undefined,
  session: undefined,
  client: undefined,
}

/** The rules about HTTP that act on stdio. */
const NO_HTTP = { hasHttp: false, hasHttpResponse: false } as const

/** Plans the faults of exchanges by the active rules. */
export class FaultPlanner {
  readonly #parts: FaultPlannerOptions
  readonly #asked = new AskedRequests()
  readonly #isStdio: boolean

  constructor(parts: FaultPlannerOptions) {
    this.#parts = parts
    this.#isStdio = parts.streamTransport === 'stdio'
  }

  /** Plans the messages of a stream that a client opened by GET. */
  messagesOf(head: RequestHead): MessagePlanner {
    const isAnnounced = factsOf(head).session === undefined
    const transport = isAnnounced ? this.#parts.streamTransport : 'streamable-http'
    return new StreamPlanner(this.#parts, this.#asked, head, transport)
  }

  /** Returns false when no rule can match any of the messages. */
  mayMatch(head: RequestHead, posted: PostedMessages): boolean {
    return (posted.calls.length > 0 && this.#follows) || this.#rulesMayMatch(head, posted)
  }

  #rulesMayMatch({ headers }: RequestHead, { calls, others }: PostedMessages): boolean {
    const { rules, headerFaults } = this.#parts
    const { ruleSet } = rules
    if (calls.length > 0 && (headerFaults !== undefined || ruleSet.index.readsServer)) return true
    try {
      for (const call of calls)
        if (mayReadServer(call) || mayMatch(ruleSet, call, headers)) return true
      for (const each of others) {
        if (each.kind === 'response' ? ruleSet.index.readsServer : mayMatch(ruleSet, each, headers))
          return true
      }
    } catch (error) {
      this.#parts.onError(error)
    }
    return false
  }

  /** True while calls are searched for false values, or for what may become one. */
  get #follows(): boolean {
    return this.#parts.falseValues.areOut || this.#parts.rules.ruleSet.index.falsifies
  }

  /** Takes the response to a call as its client gets it. */
  responded(entry: OpenCall, message: Message, raw: () => string | undefined): void {
    if (this.#follows) this.#parts.falseValues.responded(entry, message, raw)
  }

  /** Returns the fault whose false value a request that was not read may use. */
  unreadMayUse(session: string, caller: Caller): FaultOrigin | undefined {
    const { falseValues } = this.#parts
    const by = falseValues.areOut ? falseValues.unreadMayUse(keysOf(session, caller)) : undefined
    if (by === undefined) return undefined
    return { ref: { ...by, call: undefined }, marked: by.marked, retired: NEVER }
  }

  /** Reports the messages of a decoded request body that repeat a word of a poisoned result. */
  reportCanaries(body: Uint8Array, session: string, posted: PostedMessages, trace?: string): void {
    const { canaries, listenerOf } = this.#parts
    if (!canaries.isWatching) return
    const others = this.#asked.named(posted, session).map(({ call }) => call)
    for (const call of canaries.in(body, { ...posted, others }))
      listenerOf(session, trace).canaryReturned(call)
  }

  /** Returns the fault that ended the session of a request; none acts on calls of denied tools. */
  expiredBy(session: string, calls: readonly Call[]): FaultOrigin | undefined {
    const { control, rules } = this.#parts
    const by = control.expiredBy(session)
    return by !== undefined && isUntouchable(rules.states, calls, false) ? undefined : by
  }

  /** Reports a request that was rejected because a fault ended its session. */
  reportExpired(
    { ref }: FaultOrigin,
    session: string,
    calls: readonly Call[],
    trace: string | undefined,
  ): void {
    const listener = this.#parts.listenerOf(session, trace)
    const effect = { ...ref, effect: 'expired', delayMs: undefined, first: true }
    const later = { ...effect, isLater: true } as const
    if (calls.length === 0) listener.injected({ ...later, call: undefined })
    for (const call of calls) listener.injected({ ...later, call })
  }

  /** Plans the faults of a request; undefined when no rule matches. */
  forCalls(exchange: PlannedRequest): ExchangeFaults | undefined {
    const { posted, repeats } = exchange
    const isFollowed = posted !== undefined && repeats === undefined && this.#follows
    const uses = isFollowed ? this.#usesIn(exchange) : NO_USES
    if (isFollowed && uses.size === 0 && !this.#rulesMayMatch(exchange.head, posted))
      return undefined
    try {
      return this.#plan(exchange, uses)
    } catch (error) {
      // A call that must not be sent passes under no circumstances.
      if (uses.size > 0) throw error
      if (exchange.repeats?.faults !== undefined) unfollowed(exchange.repeats.faults)
      this.#parts.onError(error)
      return undefined
    }
  }

  /** Plans the faults of an exchange without calls; undefined when no HTTP rule matches. */
  forExchange(
    head: RequestHead,
    requestBytes: number,
    isUnread = false,
  ): ExchangeFaults | undefined {
    const { hasHttp, hasHttpResponse } = this.#isStdio ? NO_HTTP : this.#parts.rules.ruleSet.index
    if (!hasHttp && !hasHttpResponse) return undefined
    const session = headerValue(head.headers, 'mcp-session-id') ?? ''
    return this.forCalls({ head, requestBytes, session, isUnread, entries: [] })
  }

  /** Sends a request under its faults; relay and observers need not know them. */
  send(
    inner: Service<Outgoing>,
    faults: ExchangeFaults,
    request: Outgoing,
    sink: ResponseSink,
  ): Transfer {
    return new FaultedTransfer(inner, faults, request, sink)
  }

  /** Looks for false values in the calls of a request. */
  #usesIn({ entries, session }: PlannedRequest): BlockedCalls {
    const { rules, falseValues, listenerOf } = this.#parts
    let blocked: Map<Call, FalseUse> | undefined
    for (const entry of entries) {
      const { call } = entry
      const use = falseValues.asked(entry, askerOf(entry), rules.ruleSet.index.falsifies)
      if (use !== undefined) listenerOf(session, entry.trace).falseValueUsed(call, use)
      if (use?.isBlocked === true) (blocked ??= new Map()).set(call, use)
    }
    return blocked ?? NO_USES
  }

  #plan(exchange: PlannedRequest, uses: BlockedCalls): ExchangeFaults | undefined {
    const { head, posted = NOTHING_POSTED, session, entries, repeats } = exchange
    const { receivedAt = 0, isUnread = false } = exchange
    const { ruleSet, states, clock } = this.#parts.rules
    const isDenied = isUntouchable(states, posted.calls, isUnread)
    const facts = requestFacts(this.#parts, head, session, posted.client, isDenied)
    const seen =
      repeats && requestFacts(this.#parts, repeats.head, session, posted.client, isDenied)
    const { hasHttp, hasHttpResponse } = this.#isStdio ? NO_HTTP : ruleSet.index
    const exchangePlan = hasHttp
      ? acting(planHttp(ruleSet, withTools(facts, posted), states, clock, withTools(seen, posted)))
      : undefined
    const isNew = repeats === undefined
    const calls = posted.calls.map((call) =>
      isNew
        ? this.#planCall(facts, { call, blockedBy: uses.get(call) })
        : { call, plan: undefined },
    )
    const mayAct = isNew && posted.others.length > 0
    const named = mayAct ? this.#asked.named(posted, session) : []
    const messages = named.map((each) => this.#planCall(facts, each))
    const planResponse: PlanResponse | undefined = hasHttpResponse
      ? (status) =>
          acting(planHttpResponse(ruleSet, withTools(facts, posted), status, states, clock))
      : undefined
    if (repeats?.faults !== undefined) {
      repeated(repeats.faults, exchangePlan, planResponse, receivedAt)
      return repeats.faults
    }
    const [first] = posted.calls
    const readsServer = posted.calls.some(mayReadServer) || ruleSet.index.readsServer
    const messagePlanner =
      first && readsServer
        ? new StreamPlanner(this.#parts, this.#asked, head, first.transport, { facts, entries })
        : undefined
    const others = messages.some(isPlanned) ? messages : undefined
    const isFound = calls.some(isPlanned) || others !== undefined
    if (!isFound && (exchangePlan ?? planResponse ?? messagePlanner) === undefined) return undefined
    const parts = this.#parts
    const listener = parts.listenerOf(session, factsOf(head).trace)
    const plans = { calls, messages: others, messagePlanner, exchangePlan, planResponse }
    return new ExchangeFaults({ facts, exchange, parts, listener }, plans)
  }

  #planCall(facts: RequestFacts, known: Omit<PlannedCall, 'plan'>): PlannedCall {
    const { call } = known
    const { rules, headerFaults } = this.#parts
    const { ruleSet, states, clock } = rules
    const own = callFacts(facts, call)
    const plan = planCall(ruleSet, own, states, clock)
    const all =
      headerFaults === undefined
        ? plan
        : withHeaderFaults(plan, headerFaults.plan(ruleSet, own, clock))
    return { ...known, plan: acting(all) }
  }
}

const isPlanned = ({ plan, blockedBy }: PlannedCall): boolean =>
  plan !== undefined || blockedBy !== undefined

/** The calls that must not be sent, because their arguments hold a false value. */
type BlockedCalls = ReadonlyMap<Call, FalseUse>

const NO_USES: BlockedCalls = new Map()
const NEVER = new AbortController().signal

/** Returns true for a call whose stream outlives a reload of rules. */
const mayReadServer = ({ method }: Call): boolean => method === 'subscriptions/listen'

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
class AskedRequests {
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

/** A request with calls. */
interface KnownRequest {
  readonly facts: RequestFacts
  readonly entries: readonly OpenCall[]
}

/** Plans the messages that a server sends in the response to one request. */
class StreamPlanner implements MessagePlanner {
  readonly #parts: FaultPlannerOptions
  readonly #asked: AskedRequests
  readonly #head: RequestHead
  readonly #transport: Transport
  readonly #known: KnownRequest | undefined

  constructor(
    parts: FaultPlannerOptions,
    asked: AskedRequests,
    head: RequestHead,
    transport: Transport,
    known?: KnownRequest,
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

  plan(
    message: ServerMessage,
    of: Call | undefined,
    key = factsOf(this.#head).session ?? '',
  ): CallInjection | undefined {
    if (!this.isActive) return undefined
    const { tasks } = this.#parts
    const { facts = requestFacts(this.#parts, this.#head, key), entries = [] } = this.#known ?? {}
    const session = facts.session ?? ''
    const open = this.#known === undefined ? this.#openOf(session, message) : []
    const isCertain = open.length === 1 && progressTokenOf(message) !== undefined
    const owner = of ?? (isCertain ? open[0]!.call : undefined)
    const tool = tasks.toolOf(session, message.method, message.params) ?? toolOf(owner)
    const version = facts.protocolVersion ?? of?.protocolVersion
    const call = callOf(message, this.#transport, version, tool)
    const sideFaults = (): readonly SideFaults[] => sideFaultsOf(this.#known?.entries ?? open, of)
    if (message.kind === 'request') this.#asked.add(session, call, sideFaults)
    try {
      const plan = this.#planOf(call, facts, tool, open)
      if (plan === undefined) return undefined
      const context = {
        facts,
        exchange: { head: this.#head, requestBytes: 0, entries },
        parts: this.#parts,
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
