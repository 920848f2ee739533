import type { Call } from '../../mcp/call.ts'
import { ActiveLimit, RuleState } from './rule-state.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import { type RuleLimits, deniedCalls, excludedPaths } from '../guard/rule-limits.ts'
import type { RuleSet } from '../match/rule-set.ts'
import { RuleTotals } from './rule-totals.ts'

/** Keeps the states of all active rules, and disarms them. */
export class RuleStates {
  /** The faults in progress over all rules, including retired ones. */
  readonly active = new ActiveLimit()
  /** Counts the results of calls since the process began, by rule name. */
  readonly totals = new RuleTotals()
  readonly dryRun: boolean
  /** Returns true for a call of a denied tool; undefined when no tool is denied. */
  readonly isDenied: ((call: Call) => boolean) | undefined
  /** Returns true for a path on which no rule may act; undefined when there are none. */
  readonly isExcluded: ((path: string) => boolean) | undefined
  readonly #maxActive: number
  /** The states of rules without a file, by digest. */
  readonly #builtIn = new Map<string, RuleState>()
  readonly #builtInRules: CompiledRule[] = []
  #states = new Map<string, RuleState>()
  /** The active rules and, parallel to them, their states, for fast access. */
  #rules: readonly CompiledRule[] = []
  #inOrder: readonly RuleState[] = []
  #disarmed: string | undefined

  constructor(limits: RuleLimits = {}) {
    this.#maxActive = limits.maxActive ?? Infinity
    this.active.limit = this.#maxActive
    this.dryRun = limits.dryRun ?? false
    this.isDenied = deniedCalls(limits)
    this.isExcluded = excludedPaths(limits)
  }

  /** The rules without a file; `of` returns their states. */
  get builtIn(): readonly CompiledRule[] {
    return this.#builtInRules
  }

  /** The reason why rules are disarmed; undefined while they may act. */
  get disarmed(): string | undefined {
    return this.#disarmed
  }

  /**
   * Activates rules: unchanged ones keep their state, others get a new one, and missing ones are
   * retired.
   */
  adopt(ruleSet: RuleSet, now: number): void {
    this.active.limit = Math.min(this.#maxActive, ruleSet.maxActive)
    const before = this.#states
    this.#states = new Map()
    this.#rules = ruleSet.rules
    this.#inOrder = ruleSet.rules.map(({ digest, selection, appliedAt, elsewhere }) => {
      const known = before.get(digest)
      // A rule with another `appliedAt` counts as new.
      const isNew = known === undefined || isApplied(known.appliedAt, appliedAt)
      const state = isNew ? new RuleState(selection, now, appliedAt) : known
      state.anchor(appliedAt, now)
      this.#states.set(digest, state)
      if (!isNew) before.delete(digest)
      // The labels of the pod have changed.
      if (elsewhere.length > 0) state.faults.wake()
      return state
    })
    this.totals.adopt(
      ruleSet.rules.flatMap(({ name, enabled, temporary }, index) =>
        enabled ? { name, temporary, state: this.#inOrder[index]! } : [],
      ),
    )
    for (const { faults } of before.values()) {
      faults.wake()
      faults.close()
    }
    if (!ruleSet.enabled) this.#wakeAll()
  }

  /** Returns the state of a rule; undefined when it is no longer active. */
  of(rule: CompiledRule): RuleState | undefined {
    if (this.#rules[rule.index] === rule) return this.#inOrder[rule.index]
    return this.#states.get(rule.digest) ?? this.#builtIn.get(rule.digest)
  }

  /** Creates a permanent state for a rule without a file; it wakes with all others. */
  keep(rule: CompiledRule, now: number): RuleState {
    const state = new RuleState(rule.selection, now)
    this.#builtIn.set(rule.digest, state)
    this.#builtInRules.push(rule)
    this.totals.keep({ name: rule.name, state })
    return state
  }

  /** Disarms all rules until `arm`, and wakes their sleeping faults. */
  disarm(reason: string): void {
    this.#disarmed = reason
    this.#wakeAll()
  }

  /** Allows rules to act again. */
  arm(): void {
    this.#disarmed = undefined
  }

  #wakeAll(): void {
    for (const { faults } of this.#states.values()) faults.wake()
    for (const { faults } of this.#builtIn.values()) faults.wake()
  }
}

/** Returns true when a rule was applied again. */
function isApplied(before: number | undefined, now: number | undefined): boolean {
  return before !== undefined && now !== undefined && before !== now
}
