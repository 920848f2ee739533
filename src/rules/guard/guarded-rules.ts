import { drawSeed } from '../../base/seeded-random.ts'
import { Arming, type Disarmed } from './arming.ts'
import { Guard, type GuardConfig } from './guard.ts'
import type { RollbackCondition } from './rollback-condition.ts'
import { type RollbackHost, RollbackOn } from './rollback-on.ts'
import { HeaderFaults, type HeaderFaultOptions } from '../select/header-faults.ts'
import type { PodSelf } from '../match/pod-match.ts'
import type { RuleLimits } from './rule-limits.ts'
import { RuleStates } from '../select/rule-states.ts'
import { isOn } from '../select/connection-plan.ts'
import { ActiveRules, type Reload } from '../watch/active-rules.ts'

/** The time in milliseconds for which a fault by request headers counts as active. */
const HEADER_FAULTS_LAST = 60_000

/** Settings from outside the rules file. */
export interface GuardedRulesOptions {
  readonly limits: RuleLimits
  /** The pod's name; without one a rule for a share of the pods is not active. */
  readonly pod: string | undefined
  /** The seed where the rules have none; drawn without it. */
  readonly seed?: string | undefined
  /** The labels and workload that rules about certain pods are compared with. */
  readonly self: PodSelf
  /** Why no rule may ever act here; undefined when rules may. */
  readonly neverArmed: string | undefined
  /** Undefined when nobody watches for real errors. */
  readonly guard: GuardConfig | undefined
  /** The conditions under which all rules are disarmed until an operator arms. */
  readonly rollbackOn: readonly RollbackCondition[]
  /** Undefined when callers may ask for nothing. */
  readonly headerFaults: HeaderFaultOptions | undefined
}

/** Receives the events of the rules, and returns the time. */
export interface GuardedRulesHost extends RollbackHost {
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  readonly onReload?: (reload: Reload) => void
  readonly onArming?: (reasons: readonly Disarmed[]) => void
  readonly onTrip?: (reason: string) => void
}

/** The active rules with all that holds them in check. */
export interface GuardedRules {
  readonly isActive: ActiveRules
  readonly states: RuleStates
  readonly arming: Arming
  readonly guard: Guard | undefined
  /** Undefined without conditions. */
  readonly rollbackOn: RollbackOn | undefined
  /** Returns true while a rule may act, and for a minute after a fault by request headers. */
  readonly mayAct: () => boolean
  readonly headerFaults: HeaderFaults | undefined
}

/** Puts the rules engine together so that every part of it knows the same limits. */
export function createGuardedRules(
  options: GuardedRulesOptions,
  { clock, onReload, onArming, onTrip, ...rollback }: GuardedRulesHost,
): GuardedRules {
  const { limits, pod, seed = String(drawSeed()), self, neverArmed, guard, rollbackOn } = options
  const states = new RuleStates(limits)
  const arming = new Arming(states, clock, onArming)
  if (neverArmed !== undefined) arming.disarm('environment', neverArmed)
  const known = { ...limits, pod, seed, self }
  const parts = { states, arming, limits: known, clock }
  const isActive = new ActiveRules(onReload === undefined ? parts : { ...parts, onReload })
  const headerFaults =
    options.headerFaults && new HeaderFaults(options.headerFaults, known, states, clock())
  return {
    isActive,
    states,
    arming,
    guard: guard === undefined ? undefined : new Guard(guard, arming, onTrip),
    rollbackOn: rollbackOn.length === 0 ? undefined : new RollbackOn(rollbackOn, arming, rollback),
    mayAct: activity(isActive, headerFaults),
    headerFaults,
  }
}

function activity(rules: ActiveRules, headerFaults: HeaderFaults | undefined): () => boolean {
  let sampled = 0
  let until = -Infinity
  return () => {
    const { arming, ruleSet, states } = rules
    const now = rules.clock()
    const asked = headerFaults?.state.counts.sampled ?? 0
    if (asked !== sampled) until = now + HEADER_FAULTS_LAST
    sampled = asked
    if (!arming.armed) return false
    if (now < until) return true
    return (
      ruleSet.enabled &&
      ruleSet.rules.some((rule) => rule.elsewhere.length === 0 && isOn(rule, states, now))
    )
  }
}
