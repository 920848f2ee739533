import type { Call } from '../../src/mcp/call.ts'
import type { CallFacts } from '../../src/rules/match/call-facts.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import type { CompileOptions } from '../../src/rules/match/compile.ts'
import { planCall } from '../../src/rules/select/plan.ts'
import type { Plan } from '../../src/rules/select/plan.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import type { RuleLimits } from '../../src/rules/guard/rule-limits.ts'
import type { RuleFileSpec, RuleSpec } from '../../src/rules/file/rule-spec.ts'

export type LooseRule = Omit<RuleSpec, 'name' | 'faults' | 'then'> & {
  name?: string
  faults?: RuleSpec['faults']
  /** For `then: stop`: an object with a key of that name looks like a promise. */
  stops?: boolean
}

const STOP = JSON.parse('{"then":"stop"}') as Pick<RuleSpec, 'then'>

/** A rule with a name and a fault, whatever else it says. */
export function rule({ stops, ...spec }: LooseRule, index = 0): RuleSpec {
  return {
    name: `rule-${index}`,
    faults: [{ fault: 'abort', config: { toolError: 'injected', at: 'request' } }],
    ...spec,
    ...(stops === true ? STOP : {}),
  }
}

/** Returns the facts of a call of a tool, or of another method. */
export function facts(
  call: Partial<Call> & { args?: unknown } = {},
  more: Partial<CallFacts> = {},
): CallFacts {
  const { args, ...rest } = call
  return {
    call: {
      id: 1,
      method: 'tools/call',
      name: 'search',
      params: { name: call.name ?? 'search', arguments: args },
      transport: 'streamable-http',
      protocolVersion: '2025-06-18',
      progressToken: undefined,
      ...rest,
    },
    headers: [],
    session: undefined,
    client: undefined,
    http: { method: 'POST', path: '/mcp' },
    ...more,
  }
}

/** Active rules, with a clock that the test moves. */
export class Bench {
  now = 1_000_000
  readonly states: RuleStates
  readonly #options: CompileOptions
  #set = compileRules({ rules: [] })

  constructor(
    rules: readonly LooseRule[],
    file: Omit<RuleFileSpec, 'rules'> = {},
    options: CompileOptions = {},
    limits: RuleLimits = {},
  ) {
    this.#options = options
    this.states = new RuleStates(limits)
    this.load(rules, file)
  }

  get rules() {
    return this.#set.rules
  }

  get ruleSet() {
    return this.#set
  }

  load(rules: readonly LooseRule[], file: Omit<RuleFileSpec, 'rules'> = {}): void {
    this.#set = compileRules({ seed: 42, ...file, rules: rules.map(rule) }, this.#options)
    this.states.adopt(this.#set, this.now)
  }

  plan(of: CallFacts = facts()): Plan | undefined {
    return planCall(this.#set, of, this.states, () => this.now)
  }

  /** The names of the rules that match. */
  matched(of: CallFacts = facts()): string[] {
    return this.plan(of)?.matched.map((hit) => hit.rule.name) ?? []
  }

  /** The sampled ones of the next calls, as 0 and 1. */
  callStates(calls: number, of: (i: number) => CallFacts = () => facts()): string {
    return Array.from({ length: calls }, (_, i) =>
      this.plan(of(i)) === undefined ? '0' : '1',
    ).join('')
  }

  counts(index = 0) {
    return this.states.of(this.#set.rules[index]!)!.counts
  }
}
