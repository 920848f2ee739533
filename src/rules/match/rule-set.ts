import type { Call } from '../../mcp/call.ts'
import { SERVER_REQUESTS } from '../../mcp/classify.ts'
import { Candidates } from './candidates.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { Reach } from './match-node.ts'
import { NameIndex } from './name-index.ts'

/** Methods of the protocol that files may mean by a glob, so that each has its own index. */
const USUAL_METHODS = [
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
  'initialize',
  'ping',
  'server/discover',
] as const

/** The rules of one file, ready to be planned with. Never changes. */
export interface RuleSet {
  readonly rules: readonly CompiledRule[]
  /** False disarms everything. */
  readonly enabled: boolean
  readonly seed: string
  /** Faults in progress at the same moment, over all rules. */
  readonly maxActive: number
  readonly index: RuleIndex
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
  readonly #client: MethodIndex
  readonly #server: MethodIndex
  readonly #http: NameIndex
  readonly #httpResponse: NameIndex

  constructor(rules: readonly CompiledRule[]) {
    const here = rules.filter(({ enabled, elsewhere }) => enabled && elsewhere.length === 0)
    const calls = here.filter((rule) => !rule.isHttp)
    const ofClient = calls.filter(({ direction }) => direction === 'client')
    const ofServer = calls.filter(({ direction }) => direction === 'server')
    this.#client = new MethodIndex(ofClient, USUAL_METHODS)
    this.#server = new MethodIndex(ofServer, [])
    this.readsServer =
      ofServer.length > 0 ||
      SERVER_REQUESTS.some((method) => reachedBy(ofClient, method).length > 0)

    const http = here.filter((rule) => rule.isHttp)
    const response = http.filter((rule) => waitsForResponse(rule))
    const request = http.filter((rule) => !waitsForResponse(rule))
    this.hasHttp = request.length > 0
    this.hasHttpResponse = response.length > 0
    this.#http = byPath(request)
    this.#httpResponse = byPath(response)
  }

  /** Where to look for rules about messages of one direction. */
  of(call: Call): MethodIndex {
    return call.from === 'server' ? this.#server : this.#client
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

  constructor(rules: readonly CompiledRule[], usual: readonly string[]) {
    const methods = new Set(usual)
    for (const rule of rules) for (const method of rule.match.methods) methods.add(method)
    for (const method of methods) {
      const reached = reachedBy(rules, method)
      this.#methods.set(method, reached.length > 0 ? new NameIndex(reached) : EMPTY)
    }
    const others = reachedBy(rules, undefined)
    this.#others = others.length === 0 ? undefined : new NameIndex(others)
  }

  /** Where to look for rules about a method; undefined when there are none. */
  forMethod(method: string): NameIndex | undefined {
    const found = this.#methods.get(method)
    if (found === EMPTY) return undefined
    return found ?? this.#others
  }

  /** True when the index has seen the method by name, so that it is not tested again. */
  knowsMethod(method: string): boolean {
    return this.#methods.has(method)
  }
}

function reachedBy(
  rules: readonly CompiledRule[],
  method: string | undefined,
): { rule: CompiledRule; reach: Reach }[] {
  return rules
    .map((rule) => ({ rule, reach: rule.match.reach(method) }))
    .filter(({ reach }) => reach !== false)
}

/** A rule about the status can only be planned once there is one. */
function waitsForResponse(rule: CompiledRule): boolean {
  return rule.tests.some((test) => test.dimension === 'http.status')
}

function byPath(rules: readonly CompiledRule[]): NameIndex {
  return new NameIndex(rules.map((rule) => ({ rule, reach: rule.match.paths ?? true })))
}
