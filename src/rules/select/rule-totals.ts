import { addCounts, noCounts, RESULTS, type RuleCounts } from './rule-counts.ts'
import type { RuleState } from './rule-state.ts'

export interface NamedState {
  readonly name: string
  readonly state: RuleState
  /** True for a rule of no file: such rules may take half of the names. */
  readonly temporary?: boolean
}

/** The label of rules beyond the bound on names. */
const OTHER_RULE = 'other'

const MAX_NAMES = 2_000
// Few calls outlive their rule; the limit bounds plans that never finish.
const MAX_LEAVING = 1_000

interface Total {
  readonly name: string
  readonly counts: RuleCounts
  /** The faults in progress, including earlier versions. */
  active: number
  /** True when a rule of this name is active. */
  isActive: boolean
}

/** The counts of all versions of a rule name since the process began. */
export type RuleTotal = Readonly<Total>

/**
 * Counts by rule name, which only grow across reloads. A removed rule still counts the calls that
 * it matched; its state is added to the totals once they end.
 */
export class RuleTotals {
  readonly #maxNames: number
  readonly #maxLeaving: number
  readonly #names = new Set<string>()
  #temporaryNames = 0
  readonly #settled = new Map<string, RuleCounts>()
  /** Rules that stay active across reloads. */
  readonly #kept: NamedState[] = []
  #isActive: readonly NamedState[] = []
  #leaving: NamedState[] = []

  constructor(maxNames = MAX_NAMES, maxLeaving = MAX_LEAVING) {
    this.#maxNames = maxNames
    this.#maxLeaving = maxLeaving
  }

  /** Returns the label of a rule: its name, or `other` beyond the limit of names. */
  labelOf(name: string): string {
    return this.#names.has(name) ? name : OTHER_RULE
  }

  /** Replaces the active rules. */
  adopt(isActive: readonly NamedState[]): void {
    const kept = new Set(isActive.map(({ state }) => state))
    for (const each of isActive) this.#learn(each)
    this.#leaving.push(...this.#isActive.filter(({ state }) => !kept.has(state)))
    this.#isActive = isActive
    this.#settle()
  }

  /** Adds a rule without a file, which stays active. */
  keep(rule: NamedState): void {
    this.#learn(rule)
    this.#kept.push(rule)
  }

  /** Returns a total for each name that was ever active, in order of appearance. */
  all(): readonly RuleTotal[] {
    this.#settle()
    const totals = new Map<string, Total>()
    for (const name of this.#names) totals.set(name, this.#begin(name))
    const totalOf = (name: string): Total => {
      const label = this.labelOf(name)
      const total = totals.get(label) ?? this.#begin(label)
      totals.set(label, total)
      return total
    }
    for (const name of this.#settled.keys()) totalOf(name)
    for (const { name, state } of this.#leaving) addState(totalOf(name), state)
    for (const { name, state } of [...this.#kept, ...this.#isActive]) {
      const total = totalOf(name)
      addState(total, state)
      total.isActive = true
    }
    return [...totals.values()]
  }

  #begin(name: string): Total {
    const counts = noCounts()
    const settled = this.#settled.get(name)
    if (settled !== undefined) addCounts(counts, settled)
    return { name, counts, active: 0, isActive: false }
  }

  #learn({ name, temporary = false }: NamedState): void {
    if (this.#names.has(name) || this.#names.size >= this.#maxNames) return
    if (temporary && this.#temporaryNames >= this.#maxNames / 2) return
    if (temporary) this.#temporaryNames++
    this.#names.add(name)
  }

  #settle(): void {
    const tooMany = this.#leaving.length - this.#maxLeaving
    this.#leaving = this.#leaving.filter(({ name, state }, index) => {
      if (index >= tooMany && !isOver(state)) return true
      this.#addUp(this.labelOf(name), state.counts)
      return false
    })
  }

  #addUp(label: string, counts: RuleCounts): void {
    const sum = this.#settled.get(label) ?? noCounts()
    addCounts(sum, counts)
    this.#settled.set(label, sum)
  }
}

/** Returns true when counting has ended: each matching call has exactly one result. */
function isOver({ active, counts }: RuleState): boolean {
  let ended = 0
  for (const result of RESULTS) ended += counts[result]
  return active.active === 0 && ended >= counts.matched
}

function addState(total: Total, { active, counts }: RuleState): void {
  total.active += active.active
  addCounts(total.counts, counts)
}
