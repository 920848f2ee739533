import type { Arming } from './arming.ts'
import { compileRules, NO_RULES, type CompileOptions } from './compile.ts'
import type { RuleSet } from './rule-set.ts'
import type { RuleStates } from './rule-states.ts'
import type { RulesVersion } from './rules-version.ts'

/** What was made of one version of the rules. */
export interface Reload {
  readonly version: RulesVersion
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Counts the versions that came into force. */
  readonly generation: number
}

/** What the rules in force work with. */
export interface RulesParts {
  readonly states: RuleStates
  readonly arming: Arming
  readonly limits: CompileOptions
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  readonly onReload?: (reload: Reload) => void
}

/** The rules that calls meet. One reference is swapped; whoever plans reads it once. */
export class RulesInForce {
  readonly states: RuleStates
  readonly arming: Arming
  readonly clock: () => number
  readonly #limits: CompileOptions
  readonly #onReload: (reload: Reload) => void
  #ruleSet: RuleSet = NO_RULES
  #current: Reload | undefined
  #last: Reload | undefined

  constructor({ states, arming, limits, clock, onReload = () => undefined }: RulesParts) {
    this.states = states
    this.arming = arming
    this.clock = clock
    this.#limits = limits
    this.#onReload = onReload
  }

  get ruleSet(): RuleSet {
    return this.#ruleSet
  }

  /** The version in force; undefined before there was one. */
  get current(): Reload | undefined {
    return this.#current
  }

  /** The version that was seen last, also one that was refused. */
  get last(): Reload | undefined {
    return this.#last
  }

  /** A version was found. A refused one changes nothing. */
  take(version: RulesVersion): void {
    if (version.digest === this.#last?.version.digest) return
    const at = this.clock()
    let generation = this.#current?.generation ?? 0
    if (version.kind !== 'refused') {
      const ruleSet = version.kind === 'rules' ? this.#compile(version) : NO_RULES
      generation++
      this.#ruleSet = ruleSet
      this.states.adopt(ruleSet, at)
      if (version.digest !== this.#current?.version.digest) this.arming.lift('guard')
      this.#current = { version, at, generation }
    }
    this.#last = { version, at, generation }
    this.#onReload(this.#last)
  }

  #compile({ file }: RulesVersion & { readonly kind: 'rules' }): RuleSet {
    return compileRules({ ...file, rules: file.rules ?? [] }, this.#limits)
  }
}
