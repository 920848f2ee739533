import type { ActiveLimit } from './active-limit.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'
import type { RuleState } from './rule-state.ts'

/**
 * One rule that matched one call: decides what its faults may do, and records what they did
 * here. Whoever has it calls `finish` when the call is over, whatever happened.
 */
export class MatchedRule {
  readonly rule: CompiledRule
  readonly state: RuleState
  /** Everything is counted and nothing is done: the faults must not be run. */
  readonly dryRun: boolean
  /** The key by which the call was sampled. */
  readonly key: string
  readonly #all: ActiveLimit
  #acting = 0
  #turnedAway = false
  #applied = false
  #idle = false
  #spared = false
  #finished = false

  constructor(
    rule: CompiledRule,
    state: RuleState,
    all: ActiveLimit,
    key: string,
    dryRun: boolean,
  ) {
    this.rule = rule
    this.state = state
    this.key = key
    this.dryRun = dryRun
    this.#all = all
    if (dryRun) state.counts.dry_run++
  }

  /** Aborted when the rule is taken back or disarmed. */
  get retired(): AbortSignal {
    return this.state.retired
  }

  /** True once a fault of the rule took effect on the call. */
  get hasApplied(): boolean {
    return this.#applied
  }

  /** The numbers of the rule's fault at an index: the same for the same seed, rule, key and index. */
  random(fault: number): () => number {
    return this.rule.hashes.fault.with(String(fault)).with(this.key).numbers()
  }

  /**
   * A fault wants to begin to act. False when too many faults are in progress, here or over all
   * rules: the fault must not act, nor any other of this rule on this call. True asks for one `end`.
   */
  begin(): boolean {
    if (this.#finished || this.dryRun || this.#turnedAway) return false
    if (this.#acting === 0) {
      const own = this.state.active
      if (own.full || this.#all.full) {
        this.#turnedAway = true
        if (!this.#applied) {
          this.state.counts.concurrency_limit++
          this.state.giveBack()
        }
        return false
      }
      own.enter()
      this.#all.enter()
    }
    this.#acting++
    return true
  }

  /** Ends one of its faults. */
  end(): void {
    if (this.#acting === 0) return
    this.#acting--
    if (this.#acting === 0) this.#leave()
  }

  /** Counts the rule as injected, once per call. */
  applied(): void {
    if (this.#applied || this.dryRun) return
    this.#applied = true
    this.state.counts.injected++
  }

  /** A fault had its turn and could not act on this exchange. */
  notApplicable(): void {
    this.#idle = true
  }

  /** A fault had its turn and left the call alone on purpose. */
  spare(): void {
    this.#spared = true
  }

  /** Returns the memory of one of the rule's faults between calls. */
  memory<Memory>(fault: number, make: () => Memory): Memory {
    return this.state.memory(fault, make)
  }

  /** The call is over. Gives back what `end` was not called for. */
  finish(): void {
    if (this.#finished) return
    this.#finished = true
    if (this.#acting > 0) {
      this.#acting = 0
      this.#leave()
    }
    if (this.#applied || this.#turnedAway || this.dryRun) return
    const result = this.#spared ? 'within_limit' : this.#idle ? 'not_applicable' : 'not_reached'
    this.state.counts[result]++
  }

  #leave(): void {
    this.state.active.leave()
    this.#all.leave()
  }
}
