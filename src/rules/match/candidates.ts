import type { CompiledRule } from './compiled-rule.ts'

/** Walks several lists of rules, each in file order, as one list in file order. Made once, used again. */
export class Candidates {
  readonly #lists: (readonly CompiledRule[])[] = []
  readonly #at: number[] = []
  #count = 0

  /** True when there is no rule to walk to. */
  get isEmpty(): boolean {
    return this.#count === 0
  }

  clear(): void {
    this.#count = 0
  }

  /** One list more. No rule may be in two. */
  add(rules: readonly CompiledRule[]): void {
    if (rules.length === 0) return
    this.#lists[this.#count] = rules
    this.#at[this.#count++] = 0
  }

  /** The next rule in file order; undefined behind the last. */
  next(): CompiledRule | undefined {
    let best: CompiledRule | undefined
    let from = -1
    for (let i = 0; i < this.#count; i++) {
      const rule = this.#lists[i]![this.#at[i]!]
      if (rule !== undefined && (best === undefined || rule.index < best.index)) {
        best = rule
        from = i
      }
    }
    if (from >= 0) this.#at[from]!++
    return best
  }
}
