import { inactiveReasonFor } from './inactive-reason.ts'
import type { Call } from '../../mcp/call.ts'
import type { HeaderLines } from '../../http/headers.ts'
import { matchedName } from '../../mcp/task-tools.ts'
import { MatchedRule } from './matched-rule.ts'
import type { CallFacts, ExchangeFacts, Facts } from '../match/call-facts.ts'
import { holdAll } from '../match/match-test.ts'
import { compileRules } from '../match/compile.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleFileSpec } from '../file/rule-spec.ts'
import type { RuleState } from './rule-state.ts'
import { RuleStates } from './rule-states.ts'
import { unread } from '../../base/glob.ts'
import { isTooLong } from '../../base/regex/safe-regex.ts'

/**
 * Returns milliseconds since the epoch. The clock should not go back, or timed rules may act twice.
 */
export type Clock = () => number

/** The faults to inject into one call or exchange. */
export interface Plan {
  /** The matched and sampled rules in file order, including dry runs. */
  readonly matched: readonly MatchedRule[]
  /** True when all are dry runs: inject no fault. */
  readonly dryRun: boolean
}

/** Returns false when no rule can match a call. Most calls pay for this test alone. */
export function mayMatch({ index }: RuleSet, call: Call, headers: HeaderLines): boolean {
  if (index.hasHttp || index.hasHttpResponse) return true
  const names = index.of(call).forMethod(call.method)
  if (names === undefined) return false
  const { candidates } = index
  candidates.clear()
  names.gather(matchedName(call), headers, candidates)
  return !candidates.isEmpty
}

/**
 * Returns the rules that match a call and are sampled; undefined when there are none. Counts in the
 * rules' states.
 */
export function planCall(
  ruleSet: RuleSet,
  facts: CallFacts,
  states: RuleStates,
  clock: Clock,
): Plan | undefined {
  const { index } = ruleSet
  const { method } = facts.call
  const name = matchedName(facts.call)
  const methods = index.of(facts.call)
  const names = methods.forMethod(method)
  if (names === undefined) return undefined
  // A name that is too long for expressions is tested again, to count it for each rule.
  index.candidates.clear(methods.knowsMethod(method) && !isTooLong(name))
  names.gather(name, facts.headers, index.candidates)
  return planOf(ruleSet, facts, states, clock)
}

/** Plans the calls of a pod by rules that have just become active, at the times that are given. */
export function callPlanner(file: RuleFileSpec, pod: string) {
  const ruleSet = compileRules(file, { pod })
  const states = new RuleStates()
  states.adopt(ruleSet, 0)
  const injectedBy = (rule: RuleSet['rules'][number]) => states.of(rule)?.counts.injected ?? 0
  return {
    plan: (facts: CallFacts, now: number) => planCall(ruleSet, facts, states, () => now),
    /** Returns the calls that a fault was injected into, once for each rule. */
    injected: () => ruleSet.rules.reduce((sum, rule) => sum + injectedBy(rule), 0),
  }
}

/**
 * Returns the rules about HTTP that match an exchange and are sampled. Call it before the request
 * is sent. Leaves out rules that matched `seen`, the exchange that this one repeats.
 */
export function planHttp(
  ruleSet: RuleSet,
  facts: ExchangeFacts,
  states: RuleStates,
  clock: Clock,
  seen?: ExchangeFacts,
): Plan | undefined {
  return ruleSet.index.hasHttp ? planExchange(ruleSet, facts, states, clock, seen) : undefined
}

/** Returns the rules about HTTP that test the status. Call it when the response begins. */
export function planHttpResponse(
  ruleSet: RuleSet,
  facts: ExchangeFacts,
  status: number,
  states: RuleStates,
  clock: Clock,
): Plan | undefined {
  if (!ruleSet.index.hasHttpResponse) return undefined
  return planExchange(ruleSet, { ...facts, status }, states, clock)
}

/** Finishes a plan. Call it when the call or exchange has ended, in every case. */
export function finishPlan(plan: Plan): void {
  for (const match of plan.matched) match.finish()
}

function planExchange(
  ruleSet: RuleSet,
  facts: Facts,
  states: RuleStates,
  clock: Clock,
  seen?: ExchangeFacts,
): Plan | undefined {
  const { index } = ruleSet
  index.candidates.clear()
  const paths = index.forHttp(facts.status !== undefined)
  paths.gather(facts.http.path, facts.headers, index.candidates)
  return planOf(ruleSet, facts, states, clock, seen)
}

/** Tests and samples the candidates. */
function planOf(
  ruleSet: RuleSet,
  facts: Facts,
  states: RuleStates,
  clock: Clock,
  seen?: ExchangeFacts,
): Plan | undefined {
  const { candidates } = ruleSet.index
  const { isExact } = candidates
  const inactiveReason = inactiveReasonFor(ruleSet, facts, states)
  let matched: MatchedRule[] | undefined
  let dryRun = true
  let now = Number.NaN
  for (let rule = candidates.next(); rule !== undefined; rule = candidates.next()) {
    const unreadBefore = unread.texts
    const holds = holdAll(isExact ? rule.rest : rule.tests, facts)
    if (unread.texts !== unreadBefore) countUnread(states.of(rule))
    if (!holds) continue
    if (seen !== undefined && holdAll(rule.tests, seen)) continue
    const state = states.of(rule)
    if (state === undefined) continue
    state.counts.matched++
    if (inactiveReason === 'disarmed') {
      state.counts.disarmed++
      continue
    }
    if (inactiveReason !== undefined || rule.forbidden !== undefined) {
      state.counts.forbidden++
      continue
    }
    if (Number.isNaN(now)) now = clock()
    const key = state.sample(rule, facts, now)
    if (key === undefined) continue
    const isDryRun = rule.dryRun || states.dryRun
    const match = new MatchedRule(rule, state, states.active, key, isDryRun)
    if (matched === undefined) matched = [match]
    else matched.push(match)
    if (!isDryRun) dryRun = false
    // A dry run among other rules must change nothing for them.
    if (rule.stop && !rule.dryRun) break
  }
  return matched === undefined ? undefined : { matched, dryRun }
}

function countUnread(state: RuleState | undefined): void {
  if (state !== undefined) state.counts.value_too_long++
}
