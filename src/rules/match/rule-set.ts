import type { Call } from '../../mcp/call.ts'
import { SERVER_REQUESTS } from '../../mcp/classify.ts'
import { KNOWN_METHODS } from '../../mcp/known-methods.ts'
import { Candidates, NameIndex } from './name-index.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { Reach } from './match-node.ts'

/** The rules of one file, ready to be planned with. Never changes. */
export interface RuleSet {
  readonly rules: readonly CompiledRule[]
  /** False disarms everything. */
  readonly enabled: boolean
  /** The seed of samples that replicas do not share: written, or of this process. */
  readonly seed: string
  readonly written: string | undefined
  /** Faults in progress at the same moment, over all rules. */
  readonly maxActive: number
  readonly index: RuleIndex
}

/** Returns the rules whose times count from when they were first seen, without `appliedAt`. */
export function unanchoredRules({ rules }: Pick<RuleSet, 'rules'>): readonly string[] {
  const unanchored = rules.filter(({ appliedAt, selection, elsewhere, enabled }) => {
    const { for: lasting, cycle, ramp, stages } = selection
    const isTimed = [lasting, cycle, ramp, stages].some((each) => each !== undefined)
    return isTimed && enabled && appliedAt === undefined && elsewhere.length === 0
  })
  return unanchored.map(({ name }) => name)
}

/** Leads from a call or an exchange to the few rules that it may match. */
export class RuleIndex {
  /** True when a rule is about HTTP exchanges, before and after their response is known. */
  readonly hasHttp: boolean
  readonly hasHttpResponse: boolean
  /** Used by whoever plans, one at a time: planning never waits. */
  readonly candidates = new Candidates()
  /** True when a rule is about messages that only a reader of the server's streams can know. */
  readonly readsServer: boolean
  /** True when a rule may put false values into results, which are looked for in later calls. */
  readonly falsifies: boolean
  /** The rules about connections, in order. */
  readonly connections: readonly CompiledRule[]
  readonly #client: MethodIndex
  /** Responses of the client. */
  readonly #responses: MethodIndex
  readonly #server: MethodIndex
  readonly #http: NameIndex
  readonly #httpResponse: NameIndex

  /** `rules` precede those of `after`, whose index is used as it is. */
  constructor(rules: readonly CompiledRule[], after?: RuleIndex) {
    const here = rules.filter(({ enabled, elsewhere }) => enabled && elsewhere.length === 0)
    const calls = here.filter(({ isHttp, isConnection }) => !isHttp && !isConnection)
    const ofClient = calls.filter(({ direction }) => direction === 'client')
    const ofServer = calls.filter(({ direction }) => direction === 'server')
    const ofResponses = calls.filter(({ direction }) => direction === 'response')
    this.#client = new MethodIndex(ofClient, KNOWN_METHODS, after && after.#client)
    this.#server = new MethodIndex(ofServer, [], after && after.#server)
    // In a rule about calls, only methods that clients do not send mean a response.
    const named = ofClient.filter(({ match }) => SERVER_REQUESTS.some((each) => match.reach(each)))
    const both = [...named, ...ofResponses].sort((a, b) => a.index - b.index)
    this.#responses = new MethodIndex(
      both,
      SERVER_REQUESTS,
      after && after.#responses,
      isAboutResponse,
    )
    this.falsifies =
      after?.falsifies === true ||
      here.some(({ uses }) => uses.some(({ fault }) => fault === 'falsify'))
    this.readsServer = ofServer.length > 0 || both.length > 0 || after?.readsServer === true

    this.connections = [
      ...here.filter(({ isConnection }) => isConnection),
      ...(after?.connections ?? []),
    ]
    const http = here.filter((rule) => rule.isHttp)
    const response = http.filter((rule) => waitsForResponse(rule))
    const request = http.filter((rule) => !waitsForResponse(rule))
    this.hasHttp = request.length > 0 || after?.hasHttp === true
    this.hasHttpResponse = response.length > 0 || after?.hasHttpResponse === true
    this.#http = byPath(request, after && after.#http)
    this.#httpResponse = byPath(response, after && after.#httpResponse)
  }

  /** Where to look for rules about messages of one direction. */
  of(call: Call): MethodIndex {
    if (call.from === 'server') return this.#server
    return call.kind === 'response' ? this.#responses : this.#client
  }

  /** Where to look for rules about HTTP exchanges, by path. */
  forHttp(responded: boolean): NameIndex {
    return responded ? this.#httpResponse : this.#http
  }
}

const EMPTY = new NameIndex([])

/** Leads from the method of a message to rules. */
class MethodIndex {
  readonly #methods = new Map<string, NameIndex>()
  readonly #others: NameIndex | undefined
  readonly #after: MethodIndex | undefined

  /** `isMeant` returns true when a rule may be about a method; undefined stands for all others. */
  constructor(
    rules: readonly CompiledRule[],
    usual: readonly string[],
    after: MethodIndex | undefined,
    isMeant: (rule: CompiledRule, method: string | undefined) => boolean = () => true,
  ) {
    this.#after = after
    const reachedBy = (
      method: string | undefined,
    ): { readonly rule: CompiledRule; readonly reach: Reach }[] =>
      rules
        .map((rule) => ({ rule, reach: isMeant(rule, method) && rule.match.reach(method) }))
        .filter(({ reach }) => reach !== false)
    const others = reachedBy(undefined)
    if (others.length > 0) this.#others = new NameIndex(others, after?.others)
    const methods = new Set(usual)
    for (const rule of rules) for (const method of rule.match.methods) methods.add(method)
    // Rules about other methods are also about those that only later rules name.
    for (const method of (others.length > 0 && after?.named()) || []) methods.add(method)
    for (const method of methods) {
      const reached = reachedBy(method)
      const next = after?.forMethod(method)
      this.#methods.set(method, reached.length > 0 ? new NameIndex(reached, next) : (next ?? EMPTY))
    }
  }

  /** Where to look for rules about a method; undefined when there are none. */
  forMethod(method: string): NameIndex | undefined {
    const found = this.#methods.get(method)
    if (found === EMPTY) return undefined
    return found ?? this.#others ?? this.#after?.forMethod(method)
  }

  /** True when the index has seen the method by name, so that it is not tested again. */
  knowsMethod(method: string): boolean {
    return this.#methods.has(method) && this.#after?.knowsMethod(method) !== false
  }

  /** Where to look for rules about methods that no rule names. */
  get others(): NameIndex | undefined {
    return this.#others ?? this.#after?.others
  }

  /** The methods that rules name. */
  named(): readonly string[] {
    return [...this.#methods.keys(), ...(this.#after?.named() ?? [])]
  }
}

function isAboutResponse({ direction }: CompiledRule, method: string | undefined): boolean {
  return direction === 'response' || (method !== undefined && SERVER_REQUESTS.includes(method))
}

/** A rule about the status can only be planned once there is one. */
export function waitsForResponse(rule: CompiledRule): boolean {
  return rule.tests.some((test) => test.dimension === 'http.status')
}

function byPath(rules: readonly CompiledRule[], after: NameIndex | undefined): NameIndex {
  const reached = rules.map((rule) => ({ rule, reach: rule.match.paths ?? true }))
  return new NameIndex(reached, after)
}
