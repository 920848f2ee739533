import type { RuleSpec } from '../file/rule-spec.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import { isAboutPods } from '../match/pod-match.ts'

/** A rule that was added while the process runs. */
export interface TemporaryRule {
  readonly spec: RuleSpec
  /** The rule as written, without its name, on one line. */
  readonly text: string
  readonly order: number
  readonly rule: CompiledRule
}

/** Keeps the rules of no file, in the order in which they were added. */
export class TemporaryRules {
  readonly #compile: (spec: RuleSpec, order: number) => CompiledRule
  readonly #onChange: () => void
  #list: readonly TemporaryRule[] = []
  #added = 0

  constructor(compile: (spec: RuleSpec, order: number) => CompiledRule, onChange: () => void) {
    this.#compile = compile
    this.#onChange = onChange
  }

  get list(): readonly TemporaryRule[] {
    return this.#list
  }

  /**
   * Adds a rule before those of the file, unless the limits forbid one of its faults. Throws when
   * the rule cannot be compiled.
   */
  add(spec: RuleSpec, text: string): TemporaryRule {
    const order = this.#added++
    const added = { spec, text, order, rule: this.#compile(spec, order) }
    if (added.rule.forbidden === undefined) this.#set([...this.#list, added])
    return added
  }

  /** Removes the rules that a test selects, and wakes their sleeping faults. */
  remove(isGone: (rule: CompiledRule) => boolean): readonly TemporaryRule[] {
    const gone = this.#list.filter(({ rule }) => isGone(rule))
    if (gone.length > 0) this.#set(this.#list.filter(({ rule }) => !isGone(rule)))
    return gone
  }

  /** Compiles rules about pods again, after the labels of the pod have changed. */
  identify(): void {
    if (!this.#list.some(({ spec }) => isAboutPods(spec.match ?? {}))) return
    this.#set(this.#list.map((each) => ({ ...each, rule: this.#compile(each.spec, each.order) })))
  }

  #set(list: readonly TemporaryRule[]): void {
    this.#list = list
    this.#onChange()
  }
}
