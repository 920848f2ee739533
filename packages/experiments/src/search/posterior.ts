import type { Decision } from './sequential-test.ts'

/** The cells between the ends of the range. */
const CELLS = 2000
/** The prior probability that the limit lies beyond either end. */
const BEYOND = 0.1
/** Limits the weight of one decision, because no measurement follows the model exactly. */
const MAX_EVIDENCE = 1000

/**
 * The probabilities of the position of a limit, from 0 to 1 in the range: probabilistic bisection
 * (Horstein 1963; Waeber, Frazier and Henderson 2013).
 */
export class Posterior {
  /** Below the range, the cells, and above the range. */
  #mass = [BEYOND, ...Array.from({ length: CELLS }, () => (1 - 2 * BEYOND) / CELLS), BEYOND]

  /** Adds the decision at a position. */
  add(position: number, { kind, evidence }: Decision): void {
    if (kind === 'undecided') return
    const weight = Math.min(evidence, MAX_EVIDENCE)
    const atOrBelow = kind === 'failed' ? weight : 1
    const above = kind === 'failed' ? 1 : weight
    const cut = position * CELLS
    const mass = this.#mass.map((each, index) => {
      // The cell `index` lies between `index - 1` and `index` in cells.
      const share = index === 0 ? 1 : Math.min(1, Math.max(0, cut - index + 1))
      const inside = index > CELLS ? 0 : share
      return each * (inside * atOrBelow + (1 - inside) * above)
    })
    const total = mass.reduce((one, other) => one + other, 0)
    this.#mass = mass.map((each) => each / total)
  }

  /** Returns the position of a quantile; 0 or 1 where the quantile lies beyond the range. */
  quantile(share: number): number {
    let before = 0
    for (const [index, each] of this.#mass.entries()) {
      if (before + each >= share) {
        if (index === 0) return 0
        return Math.min(1, (index - 1 + (share - before) / each) / CELLS)
      }
      before += each
    }
    return 1
  }

  /** The probability that the limit lies below the range. */
  get below(): number {
    return this.#mass[0]!
  }

  /** The probability that the limit lies above the range. */
  get above(): number {
    return this.#mass.at(-1)!
  }
}
