import type { CompiledRule } from '../rules/match/compiled-rule.ts'
import type { RuleState } from '../rules/select/rule-state.ts'
import { nextEnd, phaseAt, windowEnd } from '../rules/select/selection.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import { CHECK_EVERY_MS } from '../rules/watch/temporary-faults.ts'

/** Wakes the sleeping faults of rules that end or pause, and reports the rules that have expired. */
export class RuleEnds {
  readonly #rules: ActiveRules
  readonly #report: (names: readonly string[]) => void
  readonly #checkEvery: number
  #timer: NodeJS.Timeout | undefined

  constructor(
    rules: ActiveRules,
    report: (names: readonly string[]) => void,
    checkEvery = CHECK_EVERY_MS,
  ) {
    this.#rules = rules
    this.#report = report
    this.#checkEvery = checkEvery
  }

  /**
   * Waits until the next rule ends or pauses. Rules that expired before are not reported. A pause
   * may be over before its timer fires: those since `last` count.
   */
  follow(from = this.#rules.clock(), last = from): void {
    this.close()
    let next = Infinity
    for (const [rule, state] of this.#timed()) {
      const hasPaused = nextEnd(rule.selection, state.since, last) <= from
      if (hasPaused || phaseAt(rule, state.since, from) !== 'on') state.faults.wake()
      next = Math.min(next, nextEnd(rule.selection, state.since, from))
    }
    if (next === Infinity) return
    const wait = Math.min(Math.ceil(next - from), this.#checkEvery)
    this.#timer = setTimeout(() => this.#passed(from), wait).unref()
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #passed(from: number): void {
    const now = this.#rules.clock()
    const expired = this.#timed().filter(([{ selection }, { since }]) => {
      const end = windowEnd(selection, since)
      return end > from && end <= now
    })
    if (expired.length > 0) this.#report(expired.map(([{ name }]) => name))
    // A rule may end between two readings of the clock.
    this.follow(now, from)
  }

  /** The rules of the file that may act, with their states. */
  #timed(): readonly (readonly [CompiledRule, RuleState])[] {
    const { ruleSet, states } = this.#rules
    return ruleSet.rules.flatMap((rule) => {
      const state = states.of(rule)
      if (state === undefined || rule.temporary) return []
      return rule.enabled && rule.selection.inPod ? [[rule, state] as const] : []
    })
  }
}
