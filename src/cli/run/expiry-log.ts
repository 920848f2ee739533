import { windowEnd } from '../../rules/select/window.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'

/** The longest time that a timer can wait. */
const MAX_TIMER = 2 ** 31 - 1

/** Reports the rules whose time is over, as soon as it is. */
export class ExpiryLog {
  readonly #rules: ActiveRules
  readonly #report: (names: readonly string[]) => void
  #timer: NodeJS.Timeout | undefined

  constructor(rules: ActiveRules, report: (names: readonly string[]) => void) {
    this.#rules = rules
    this.#report = report
  }

  /** Waits for the next rule to end. Rules that have ended already are not reported. */
  follow(): void {
    this.close()
    const from = this.#rules.clock()
    let next = Infinity
    for (const { end } of this.#ends()) if (end > from && end < next) next = end
    if (next === Infinity) return
    const wait = Math.min(Math.ceil(next - from), MAX_TIMER)
    this.#timer = setTimeout(() => this.#over(from), wait).unref()
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #over(from: number): void {
    const now = this.#rules.clock()
    const over = this.#ends().filter(({ end }) => end > from && end <= now)
    if (over.length > 0) this.#report(over.map(({ name }) => name))
    this.follow()
  }

  #ends(): readonly { readonly name: string; readonly end: number }[] {
    const { ruleSet, states } = this.#rules
    return ruleSet.rules.flatMap((rule) => {
      const state = states.of(rule)
      if (state === undefined || !rule.selection.inPod) return []
      return [{ name: rule.name, end: windowEnd(rule.selection, state.since) }]
    })
  }
}
