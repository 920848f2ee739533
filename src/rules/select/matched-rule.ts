import type { ActiveLimit, RuleState } from './rule-state.ts'
import { windowEnd } from './selection.ts'
import type { CompiledRule } from '../match/compiled-rule.ts'

/**
 * One rule that matched one call: decides which faults may act, and records their effects. The
 * owner calls `finish` when the call has ended, in every case.
 */
export class MatchedRule {
  readonly rule: CompiledRule
  readonly state: RuleState
  /** True for a rule that only counts: its faults must not run. */
  readonly dryRun: boolean
  /** The key by which the call was sampled. */
  readonly #key: string
  readonly #all: ActiveLimit
  #acting = 0
  #overLimit = false
  #applied = false
  #idle = false
  #withinLimit = false
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
    this.#key = key
    this.dryRun = dryRun
    this.#all = all
    if (dryRun) state.counts.dry_run++
  }

  /** Returns the milliseconds until the rule expires. */
  endsIn(now: number): number {
    return Math.max(0, windowEnd(this.rule.selection, this.state.since) - now)
  }

  /** True once a fault of the rule took effect on the call. */
  get hasApplied(): boolean {
    return this.#applied
  }

  /**
   * Returns the random numbers of the rule's fault at an index: equal for equal seed, rule, key and
   * index.
   */
  random(fault: number): () => number {
    return this.rule.hashes.fault.with(String(fault)).with(this.#key).numbers()
  }

  /**
   * Begins a fault. Returns false when too many faults are in progress, of this rule or of all:
   * then no fault of this rule may act on this call. After true, the caller calls `end` once.
   */
  begin(): boolean {
    if (this.#finished || this.dryRun || this.#overLimit) return false
    if (this.#acting === 0) {
      const own = this.state.active
      if (own.full || this.#all.full) {
        this.#overLimit = true
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

  /** Records a fault that could not act on this exchange. */
  notApplicable(): void {
    this.#idle = true
  }

  /** Records a fault that let the call pass on purpose. */
  withinLimit(): void {
    this.#withinLimit = true
  }

  /** Ends the call, and all faults for which `end` was not called. */
  finish(): void {
    if (this.#finished) return
    this.#finished = true
    if (this.#acting > 0) {
      this.#acting = 0
      this.#leave()
    }
    if (this.#applied || this.#overLimit || this.dryRun) return
    const result = this.#withinLimit
      ? 'within_limit'
      : this.#idle
        ? 'not_applicable'
        : 'not_reached'
    this.state.counts[result]++
  }

  #leave(): void {
    this.state.active.leave()
    this.#all.leave()
  }
}
