import { ActiveLimit } from './active-limit.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { RuleSet } from './rule-set.ts'
import { RuleState } from './rule-state.ts'

/** What the guard sets for all rules, and the rules file cannot loosen. */
export interface RuleLimits {
  /** Faults in progress at the same moment, over all rules. */
  readonly maxActive?: number
  /** Everything is matched, drawn and counted; nothing is done. */
  readonly shadow?: boolean
}

/** The memory of all rules in force, and the switch that disarms them. */
export class RuleStates {
  /** Faults in progress over all rules, those of retired rules included. */
  readonly active = new ActiveLimit()
  readonly shadow: boolean
  readonly #maxActive: number
  #states = new Map<string, RuleState>()
  /** The rules in force and, parallel to them, their states: the short way to them. */
  #rules: readonly CompiledRule[] = []
  #inOrder: readonly RuleState[] = []
  #disarmed: string | undefined

  constructor(limits: RuleLimits = {}) {
    this.#maxActive = limits.maxActive ?? Infinity
    this.shadow = limits.shadow ?? false
  }

  /** Why nothing is armed; undefined while rules may act. */
  get disarmed(): string | undefined {
    return this.#disarmed
  }

  /** Rules come into force: unchanged ones keep their state, others begin anew, the rest is retired. */
  adopt(ruleSet: RuleSet, now: number): void {
    this.active.limit = Math.min(this.#maxActive, ruleSet.maxActive)
    const before = this.#states
    this.#states = new Map()
    this.#rules = ruleSet.rules
    this.#inOrder = ruleSet.rules.map(({ digest, selection }) => {
      const state = before.get(digest) ?? new RuleState(selection, now)
      this.#states.set(digest, state)
      before.delete(digest)
      return state
    })
    for (const retired of before.values()) retired.wake()
    if (!ruleSet.enabled) this.#wakeAll()
  }

  /** The state of a rule; undefined when it is no longer in force. */
  of(rule: CompiledRule): RuleState | undefined {
    if (this.#rules[rule.index] === rule) return this.#inOrder[rule.index]
    return this.#states.get(rule.digest)
  }

  /** No rule acts until `arm`; what waits on behalf of one wakes up. */
  disarm(reason: string): void {
    this.#disarmed = reason
    this.#wakeAll()
  }

  /** Rules may act again. */
  arm(): void {
    this.#disarmed = undefined
  }

  #wakeAll(): void {
    for (const state of this.#states.values()) state.wake()
  }
}
