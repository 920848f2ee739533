import { Arming, type Disarmed } from './arming.ts'
import { Guard, type GuardConfig } from './guard.ts'
import { HeaderFaults, type HeaderFaultOptions } from '../select/header-faults.ts'
import type { PodSelf } from '../match/pod-match.ts'
import type { RuleLimits } from './rule-limits.ts'
import { RuleStates } from '../select/rule-states.ts'
import { ActiveRules, type Reload } from '../watch/active-rules.ts'

/** Settings from outside the rules file. */
export interface GuardedRulesOptions {
  readonly limits: RuleLimits
  /** The pod's name; without one a rule for a share of the pods is not active. */
  readonly pod: string | undefined
  /** The labels and workload that rules about certain pods are compared with. */
  readonly self: PodSelf
  /** Why no rule may ever act here; undefined when rules may. */
  readonly neverArmed: string | undefined
  /** Undefined when nobody watches for real errors. */
  readonly guard: GuardConfig | undefined
  /** Undefined when callers may ask for nothing. */
  readonly headerFaults: HeaderFaultOptions | undefined
}

/** Receives the events of the rules, and returns the time. */
export interface GuardedRulesHost {
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
  readonly headerFaults: HeaderFaults | undefined
}

/** Puts the rules engine together so that every part of it knows the same limits. */
export function createGuardedRules(
  options: GuardedRulesOptions,
  { clock, onReload, onArming, onTrip }: GuardedRulesHost,
): GuardedRules {
  const { limits, pod, self, neverArmed, guard, headerFaults } = options
  const states = new RuleStates(limits)
  const arming = new Arming(states, clock, onArming)
  if (neverArmed !== undefined) arming.disarm('environment', neverArmed)
  const parts = { states, arming, limits: { ...limits, pod, self }, clock }
  return {
    isActive: new ActiveRules(onReload === undefined ? parts : { ...parts, onReload }),
    states,
    arming,
    guard: guard === undefined ? undefined : new Guard(guard, arming, onTrip),
    headerFaults:
      headerFaults === undefined
        ? undefined
        : new HeaderFaults(headerFaults, limits, states, clock()),
  }
}
