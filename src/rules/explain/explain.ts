import { disarmedBy, type InactiveReason, inactiveReasonFor } from '../select/inactive-reason.ts'
import { FAULTS } from '../../filters/index.ts'
import { toolOf } from '../../mcp/call.ts'
import type { CallFacts, Destination, Facts } from '../match/call-facts.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import { faultOutlook, type ResponseOutlook } from './fault-outlook.ts'
import type { ResponseKind } from './response-kind.ts'
import { instantText } from '../../base/instant.ts'
import { compileRules } from '../match/compile.ts'
import type { RuleFileSpec } from '../file/rule-spec.ts'
import type { RuleSet } from '../match/rule-set.ts'
import type { RuleResult } from '../select/rule-counts.ts'
import { connectionFacts } from '../select/connection-plan.ts'
import { RuleState, type Forecast } from '../select/rule-state.ts'
import type { RuleStates } from '../select/rule-states.ts'
import { windowEnd } from '../select/selection.ts'

/** One dimension of a rule that does not match a call. */
export interface Mismatch {
  readonly dimension: string
  readonly wants: string
  readonly found: string
}

/** Predicts the effect of one fault of a rule. */
export interface FaultOutlook {
  readonly fault: string
  readonly summary: string
  readonly config: unknown
  /** For each kind of response to the call; empty where the rule does not match. */
  readonly responses: readonly ResponseOutlook[]
}

/** Predicts the effect of one rule on a call. */
export interface RuleOutlook {
  readonly rule: string
  readonly matches: boolean
  /** All dimensions that fail, as the file orders them by kind; the first is the one to look at. */
  readonly failing: readonly Mismatch[]
  /**
   * The result for the call; `disabled` for every call, else undefined when the rule does not
   * match.
   */
  readonly result: RuleResult | 'sampled' | 'stopped' | 'disabled' | undefined
  /** The limit that forbids the rule to act. */
  readonly limit: string | undefined
  /** Name of the rule that says `then: stop` and samples the call first. */
  readonly stoppedBy: string | undefined
  readonly forecast: Forecast | undefined
  /** When it was applied, where that was written, and when it ends. */
  readonly appliedAt: string | undefined
  readonly until: string | undefined
  readonly faults: readonly FaultOutlook[]
}

/** Predicts the effect of all rules on a call. */
export interface Explanation {
  /** Why nothing would be done whatever the rules say. */
  readonly disarmed: string | undefined
  /** In file order. */
  readonly rules: readonly RuleOutlook[]
}

/** Returns a function that is true for a call that a rule of a file matches. */
export function callMatcher(file: RuleFileSpec): (facts: CallFacts) => boolean {
  const ruleSet = compileRules(file)
  return (facts) => explain(ruleSet, facts, 0).rules.some(({ matches }) => matches)
}

/**
 * Predicts what each rule does with the next call or exchange. Changes nothing. Without
 * states it speaks of rules that have just become active. `batched` says that the call is one of
 * several that share an exchange.
 */
export function explain(
  ruleSet: RuleSet,
  facts: Facts,
  now: number,
  states?: RuleStates,
  batched = false,
): Explanation {
  const disarmed = disarmedBy(ruleSet, states)
  // Rules about HTTP are evaluated first and separately: they stop only each other.
  const stops: { http?: Stop; calls?: Stop } = {}
  const { call, ...rest } = facts
  const tools = facts.tools ?? [toolOf(call) ?? []].flat()
  const exchange = { ...rest, tools }
  const rules = ruleSet.rules
    .filter(({ isHttp, isConnection }) => !isConnection && (isHttp || call !== undefined))
    .map((rule) => {
      const chain = rule.isHttp ? 'http' : 'calls'
      const seen = rule.isHttp ? exchange : facts
      const obstacle = stops[chain] ?? inactiveReasonFor(ruleSet, seen, states)
      const outcome = outcomeOf(rule, seen, now, states, obstacle)
      if (samples(outcome) && rule.stop && !rule.dryRun) stops[chain] ??= { stoppedBy: rule.name }
      return { ...outcome, faults: faultsOf(rule, facts, outcome.matches, batched) }
    })
  return { disarmed, rules: together(rules, ruleSet, batched) }
}

/** Predicts what each rule about connections does with the next one to a destination. */
export function explainConnection(
  ruleSet: RuleSet,
  destination: Destination,
  now: number,
  states: RuleStates,
): readonly RuleOutlook[] {
  const facts = connectionFacts(destination)
  const inactiveReason = disarmedBy(ruleSet, states) === undefined ? undefined : 'disarmed'
  let stop: Stop | undefined
  return ruleSet.rules
    .filter(({ isConnection }) => isConnection)
    .map((rule) => {
      const outcome = outcomeOf(rule, facts, now, states, stop ?? inactiveReason)
      if (samples(outcome) && rule.stop && !rule.dryRun) stop ??= { stoppedBy: rule.name }
      return { ...outcome, faults: faultsOf(rule, facts, false, false) }
    })
}

/** Returns the faults of the rules that sample the call, as they come one after another. */
function together(
  rules: readonly RuleOutlook[],
  { rules: compiled }: RuleSet,
  batched: boolean,
): readonly RuleOutlook[] {
  const isHttp = new Set(compiled.filter((rule) => rule.isHttp).map(({ name }) => name))
  const sampling = rules.filter(({ result }) => result === 'sampled')
  const faults = sampling.flatMap(({ rule, faults: own }) =>
    own.map(({ fault, responses }) => ({
      name: `${rule}/${fault}`,
      isHttp: isHttp.has(rule),
      responses,
    })),
  )
  const responses = reached(faults, batched).values()
  return rules.map((rule) =>
    rule.result === 'sampled'
      ? {
          ...rule,
          faults: rule.faults.map((own) => ({ ...own, responses: responses.next().value! })),
        }
      : rule,
  )
}

/** Names a rule before that stops those after it. */
type Stop = Pick<RuleOutlook, 'stoppedBy'>

function outcomeOf(
  rule: CompiledRule,
  facts: Facts,
  now: number,
  states: RuleStates | undefined,
  obstacle: Stop | InactiveReason | undefined,
): Omit<RuleOutlook, 'faults'> {
  const tests = rule.tests
    .filter((test) => !test.test(facts))
    .map((test) => ({ dimension: test.dimension, wants: test.wants, found: test.found(facts) }))
  const isNew = ({ dimension }: Mismatch): boolean =>
    !rule.elsewhere.some((each) => each.dimension === dimension)
  const failing = [...rule.elsewhere, ...tests.filter(isNew)]
  const nothing = { limit: undefined, stoppedBy: undefined, forecast: undefined, ...NO_TIMES }
  const base = { rule: rule.name, matches: failing.length === 0, failing, ...nothing }
  if (!rule.enabled) return { ...base, result: 'disabled' }
  if (failing.length > 0) return { ...base, result: undefined }
  if (typeof obstacle === 'object') return { ...base, result: 'stopped', ...obstacle }
  if (obstacle === 'disarmed') return { ...base, result: 'disarmed' }
  const limit = limitOn(rule, obstacle)
  if (limit !== undefined) return { ...base, result: 'forbidden', limit }
  const state = states?.of(rule) ?? new RuleState(rule.selection, now, rule.appliedAt)
  const forecast = state.forecast(rule, facts, now)
  const isDryRun = rule.dryRun || states?.dryRun === true
  const result = forecast.result === 'sampled' && isDryRun ? 'dry_run' : forecast.result
  const times = {
    appliedAt: instantText(rule.appliedAt),
    until: instantText(windowEnd(rule.selection, state.since)),
  }
  return { ...base, result, forecast, ...times }
}

function samples({ result }: Pick<RuleOutlook, 'result'>): boolean {
  return result === 'sampled' || result === 'dry_run'
}

const NO_TIMES = { appliedAt: undefined, until: undefined }

const LIMITS: Readonly<Record<Exclude<InactiveReason, 'disarmed'>, string>> = {
  denied_tool: 'its tool is in --deny-tools',
  excluded_path: 'its path is in --exclude-paths',
  untouchable: 'it carries, or may carry, a call of a tool in --deny-tools',
}

function limitOn(
  { forbidden }: CompiledRule,
  inactiveReason: keyof typeof LIMITS | undefined,
): string | undefined {
  if (forbidden !== undefined) return `the fault ${forbidden} is not allowed`
  return inactiveReason && LIMITS[inactiveReason]
}

function faultsOf(
  rule: CompiledRule,
  facts: Facts,
  matches: boolean,
  batched: boolean,
): readonly FaultOutlook[] {
  return rule.uses.map((use, i) => ({
    fault: use.fault,
    summary: FAULTS.find(({ name }) => name === use.fault)?.summary ?? '',
    config: use.config,
    responses: matches ? faultOutlook(use, rule.faults[i]!, rule, facts, batched) : [],
  }))
}

interface ReachedFault {
  readonly name: string
  /** Faults of rules about HTTP have their turn first, and end the exchange for all. */
  readonly isHttp: boolean
  readonly responses: readonly ResponseOutlook[]
}

/**
 * Combines the faults of all injected rules in their order. After a fault that keeps the call from
 * the upstream, no later fault acts, and no fault has a response to act on. After one that replaces
 * the response, no later fault has it.
 */
function reached(
  faults: readonly ReachedFault[],
  batched: boolean,
): readonly (readonly ResponseOutlook[])[] {
  const ofHttp = faults.filter(({ isHttp }) => isHttp)
  const ofCall = faults.filter(({ isHttp }) => !isHttp)
  const inOrder = [...ofHttp, ...ofCall]
  const endsHttp = ofHttp.find((fault) => endsOn(fault, 'http'))
  // The other calls of a batch continue.
  const endsCall = batched
    ? undefined
    : ofCall.find((each) => each.responses.some(({ on, here }) => here && endsOn(each, on)))
  return faults.map((fault) =>
    fault.responses.map((response) => {
      const { on, here, acts, by } = response
      const last = endsHttp ?? (fault.isHttp ? endsCall : ofCall.find((each) => endsOn(each, on)))
      if (acts === 'no') return response
      const at = inOrder.indexOf(fault)
      const isLate = last !== undefined && (by !== 'request' || at > inOrder.indexOf(last))
      const first = isLate ? last : replacing(response, inOrder, at)
      return first === undefined ? response : { on, here, acts: 'no', behind: first.name }
    }),
  )
}

/** Returns the fault that replaces or cuts the response before another one has its turn. */
function replacing(
  { on, by, any }: ResponseOutlook,
  faults: readonly ReachedFault[],
  at: number,
): ReachedFault | undefined {
  // Earlier events of a stream are not replaced.
  const isBody = on === 'json' || on === 'batch' || on === 'http'
  if (by === 'request' || (!isBody && (any === true || by === 'output'))) return undefined
  const before = by === 'output' ? faults : faults.slice(0, at)
  return before.find((fault) => endsOn(fault, on, 'replaces'))
}

function endsOn(
  { responses }: ReachedFault,
  kind: ResponseKind,
  how: 'ends' | 'replaces' = 'ends',
): boolean {
  return responses.some((response) => response.on === kind && response[how] === true)
}
