import type { Destination, Facts } from '../match/call-facts.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import { holdAll } from '../match/match-test.ts'
import { MatchedRule } from './matched-rule.ts'
import { ActiveLimit } from './rule-state.ts'
import type { RuleStates } from './rule-states.ts'
import { phaseAt } from './selection.ts'

/** Returns true when a rule is about connections to a destination. */
export function matchesConnection(rule: CompiledRule, destination: Destination): boolean {
  return holdAll(rule.tests, connectionFacts(destination))
}

/** Returns true while the times of a rule allow it to act. */
export function isOn(rule: CompiledRule, states: RuleStates, now: number): boolean {
  const state = states.of(rule)
  return state !== undefined && phaseAt(rule, state.since, now) === 'on'
}

/** Returns true when a rule selects each connection that matches it. */
export function selectsAll({ selection, forbidden }: CompiledRule): boolean {
  const { share, ramp, stages, first, after, every, times, burst, episode, maxActive } = selection
  const isPart = [ramp, stages, first, after, every, times, burst, episode].some(
    (key) => key !== undefined,
  )
  return share >= 1 && !isPart && maxActive === Infinity && forbidden === undefined
}

/**
 * Samples a connection that a rule matches. Returns undefined when the rule leaves it alone. The
 * caller calls `finish` of the result once.
 */
export function sampleConnection(
  rule: CompiledRule,
  destination: Destination,
  states: RuleStates,
  now: number,
): MatchedRule | undefined {
  const state = states.of(rule)
  if (state === undefined) return undefined
  state.counts.matched++
  if (rule.forbidden !== undefined) {
    state.counts.forbidden++
    return undefined
  }
  const key = state.sample(rule, connectionFacts(destination), now)
  if (key === undefined) return undefined
  return new MatchedRule(rule, state, ALL, key, rule.dryRun || states.dryRun)
}

/** Returns what rules can match of a connection. */
export function connectionFacts(outbound: Destination): Facts {
  return { headers: [], session: undefined, client: undefined, http: NO_HTTP, outbound }
}

/** Faults of connections hold no messages, so that only a rule's own `maxActive` limits them. */
const ALL = new ActiveLimit()
const NO_HTTP = { method: '', path: '' }
