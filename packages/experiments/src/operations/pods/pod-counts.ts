import type { Rule } from '#admin-api'
import { type Counts, type Totals, totalsOf } from '../../experiment/sidecars.ts'

/** Clocks are adjusted: starts that differ by less are those of one process. */
const SAME_START_MS = 2_000

/**
 * Sums the counts of rules over pods. Counts of pods that are gone, and of processes that were
 * restarted, stay in the sum.
 */
export class PodCounts {
  /** The processes of each pod that count, with the counts of their rules at the last look. */
  readonly #counters = new Map<
    string,
    { readonly startedAt: number; readonly counts: Map<string, Totals> }[]
  >()
  #appliedAt: number | undefined

  /** Begins to count the rules that were applied at a time, and forgets all others. */
  begin(appliedAt: number): void {
    if (appliedAt === this.#appliedAt) return
    this.#appliedAt = appliedAt
    this.#counters.clear()
  }

  /** Adds the rules that a sidecar reports. */
  add(pod: string, startedAt: string | null, rules: readonly Rule[]): void {
    const counters = this.#counters.get(pod) ?? []
    this.#counters.set(pod, counters)
    const started = Date.parse(startedAt ?? '') || 0
    const own = rules.filter(({ appliedAt }) => Date.parse(appliedAt ?? '') === this.#appliedAt)
    const last = counters.at(-1)
    const isSame =
      last !== undefined &&
      Math.abs(last.startedAt - started) < SAME_START_MS &&
      own.every((rule) => totalsOf(rule).matched >= (last.counts.get(rule.name)?.matched ?? 0))
    const counter = isSame ? last : { startedAt: started, counts: new Map<string, Totals>() }
    if (!isSame) counters.push(counter)
    for (const rule of own) counter.counts.set(rule.name, totalsOf(rule))
  }

  /** Returns the counts of the named rules. */
  of(names: ReadonlySet<string>): Counts {
    const all = [...this.#counters.values()].flat().flatMap(({ counts }) => [...counts])
    return all.filter(([name]) => names.has(name))
  }
}
