import type { Fault } from '../filters/fault.ts'
import { FAULTS } from '../filters/index.ts'
import type { FaultUse } from '../filters/index.ts'
import type { Facts } from './call-facts.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { RuleSet } from './rule-set.ts'
import type { RuleResult } from './rule-counts.ts'
import { RuleState } from './rule-state.ts'
import type { Forecast } from './rule-state.ts'
import type { RuleStates } from './rule-states.ts'

/** One dimension of a rule that a call does not meet. */
export interface Mismatch {
  readonly dimension: string
  readonly wants: string
  readonly found: string
}

/** What a fault of a rule would do. */
export interface FaultOutlook {
  readonly fault: string
  readonly summary: string
  readonly config: unknown
  /** When it has its turn: before the app gets the call, when it has answered, or while it answers. */
  readonly at: readonly ('request' | 'answer' | 'response')[]
}

/** What one rule makes of a call. */
export interface RuleOutlook {
  readonly rule: string
  readonly matches: boolean
  /** All dimensions that fail, as the file orders them by kind; the first is the one to look at. */
  readonly failing: readonly Mismatch[]
  /** What would become of the call; undefined when the rule does not match. */
  readonly result: RuleResult | 'drawn' | 'stopped' | undefined
  /** Name of the rule that says `then: stop` and hits first. */
  readonly stoppedBy: string | undefined
  readonly forecast: Forecast | undefined
  readonly faults: readonly FaultOutlook[]
}

/** What all rules make of a call. */
export interface Explanation {
  /** Why nothing would be done whatever the rules say. */
  readonly disarmed: string | undefined
  /** In file order. */
  readonly rules: readonly RuleOutlook[]
}

/**
 * Says what each rule makes of a call or an exchange, were it the next. Changes nothing. Without
 * states it speaks of rules that have just come into force.
 */
export function explain(
  ruleSet: RuleSet,
  facts: Facts,
  now: number,
  states?: RuleStates,
): Explanation {
  const disarmed = ruleSet.enabled ? states?.disarmed : 'the file says `enabled: false`'
  let stoppedBy: string | undefined
  const rules = ruleSet.rules
    .filter((rule) => rule.isHttp || facts.call !== undefined)
    .map((rule) => {
      const outlook = outlookOf(rule, facts, now, states, disarmed, stoppedBy)
      const isMereShadow = rule.shadow && states?.shadow !== true
      const hits = outlook.result === 'drawn' || outlook.result === 'shadow'
      if (hits && rule.stop && !isMereShadow) stoppedBy ??= rule.name
      return outlook
    })
  return { disarmed, rules }
}

function outlookOf(
  rule: CompiledRule,
  facts: Facts,
  now: number,
  states: RuleStates | undefined,
  disarmed: string | undefined,
  stoppedBy: string | undefined,
): RuleOutlook {
  const failing = rule.tests
    .filter((test) => !test.test(facts))
    .map((test) => ({ dimension: test.dimension, wants: test.wants, found: test.found(facts) }))
  const faults = rule.uses.map((use, i) => outlookOfFault(use, rule.faults[i]))
  const base = { rule: rule.name, matches: failing.length === 0, failing, faults, stoppedBy }
  if (failing.length > 0) {
    return { ...base, result: undefined, stoppedBy: undefined, forecast: undefined }
  }
  if (stoppedBy !== undefined) return { ...base, result: 'stopped', forecast: undefined }
  if (disarmed !== undefined) return { ...base, result: 'disarmed', forecast: undefined }
  const state = states?.of(rule) ?? new RuleState(rule.selection, now)
  const forecast = state.forecast(rule, facts, now)
  const isShadow = rule.shadow || states?.shadow === true
  const result = forecast.result === 'drawn' && isShadow ? 'shadow' : forecast.result
  return { ...base, result, forecast }
}

function outlookOfFault(use: FaultUse, fault: Fault | undefined): FaultOutlook {
  const definition = FAULTS.find(({ name }) => name === use.fault)
  const at: FaultOutlook['at'][number][] = []
  if (fault?.onRequest !== undefined) at.push('request')
  if (fault?.onAnswer !== undefined) at.push('answer')
  if (fault?.onResponse !== undefined) at.push('response')
  return { fault: use.fault, summary: definition?.summary ?? '', config: use.config, at }
}
