import type { Decision } from './sequential-test.ts'

/** The magnitudes of a search, from the mildest to the strongest, which may be the smaller number. */
export interface Extent {
  readonly mildest: number
  readonly strongest: number
  /** True when only integers can be written. */
  readonly isWhole?: boolean
}

/** Returns the magnitude at a position: 0 is the mildest, 1 the strongest, by equal factors. */
export function magnitudeAt({ mildest, strongest, isWhole }: Extent, position: number): number {
  if (position === 0 || position === 1) return position === 0 ? mildest : strongest
  const rounded = Number((mildest * (strongest / mildest) ** position).toPrecision(3))
  return isWhole === true ? Math.round(rounded) : rounded
}

export function positionOf({ mildest, strongest }: Extent, magnitude: number): number {
  return Math.log(magnitude / mildest) / Math.log(strongest / mildest)
}

/** Returns the difference of positions between magnitudes that differ by a factor. */
export function stepOf({ mildest, strongest }: Extent, factor: number): number {
  return Math.log(factor) / Math.abs(Math.log(strongest / mildest))
}

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
class Posterior {
  /** Below the range, the cells, and above the range. */
  #mass = [BEYOND, ...Array.from({ length: CELLS }, () => (1 - 2 * BEYOND) / CELLS), BEYOND]

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

/** Where a run measures. */
export interface Magnitudes {
  readonly magnitude: number
  /** The magnitude of the second parameter, where two are varied. */
  readonly second?: number
}

/** All measurements at one place, and the decision on them. */
export interface Point extends Magnitudes {
  readonly runs: number
  readonly calls: number
  /** The calls that the condition counts as failed. */
  readonly failed: number
  readonly decision: Decision['kind']
  /** The odds against a wrong decision. */
  readonly evidence: number
  /** The code of the event that decided instead of the calls. */
  readonly code?: string
}

export interface Precision {
  readonly range: Extent
  /** The relative width of the interval at which the search ends. */
  readonly precision: number
  /** The probability with which the interval has the limit. */
  readonly confidence: number
}

/** Places the next magnitude, when the ones before are too close to the limit to be decided. */
const QUANTILES = [0.5, 0.25, 0.75, 0.125, 0.875]
const ROUNDING = 1e-9
/** The decisions at one magnitude after which another one would add nothing. */
const OFTEN = 3

/** Narrows the smallest magnitude that fails, by decisions on single magnitudes. */
export class Bisection {
  readonly #settings: Precision
  readonly #posterior = new Posterior()
  readonly #points: Point[] = []
  #isBegun = false
  #hasFailed = false

  constructor(settings: Precision) {
    this.#settings = settings
  }

  /** Adds a point, or one that another search has decided and that says the same of this limit. */
  add(point: Point, isOwn = true): void {
    const { magnitude, decision: kind, evidence } = point
    if (isOwn) this.#points.push(point)
    this.#isBegun ||= kind !== 'undecided'
    this.#hasFailed ||= kind === 'failed'
    this.#posterior.add(positionOf(this.#settings.range, magnitude), { kind, evidence })
  }

  get result(): Limit {
    const { range, confidence } = this.#settings
    const posterior = this.#posterior
    const tail = (1 - confidence) / 2
    const at = (share: number): number => magnitudeAt(range, posterior.quantile(share))
    const where =
      posterior.below > confidence ? 'below' : posterior.above > confidence ? 'above' : 'within'
    return {
      where,
      limit: where === 'within' && this.#hasFailed ? at(0.5) : null,
      interval: [
        posterior.below > tail ? null : at(tail),
        posterior.above > tail ? null : at(1 - tail),
      ],
      isPrecise: where !== 'within' || this.#isPrecise(),
    }
  }

  /** The width of the interval in positions. */
  get width(): number {
    const tail = (1 - this.#settings.confidence) / 2
    return this.#posterior.quantile(1 - tail) - this.#posterior.quantile(tail)
  }

  /**
   * Returns the magnitude that narrows the interval most, up to the strongest one that may be tried
   * now; undefined when another decision would add nothing.
   */
  place(strongest: number): number | undefined {
    const { range } = this.#settings
    const posterior = this.#posterior
    if (this.#isBegun && (this.result.where !== 'within' || this.#isPrecise())) return undefined
    const most = Math.min(1, positionOf(range, strongest))
    for (const share of QUANTILES) {
      const position = Math.min(most, posterior.quantile(share))
      if (!this.#isBlocked(position)) return this.#notBeyond(most, magnitudeAt(range, position))
    }
    return undefined
  }

  /** Returns an integer that rounding made too strong as the next milder one. */
  #notBeyond(most: number, magnitude: number): number {
    const { range } = this.#settings
    if (positionOf(range, magnitude) <= most + ROUNDING || range.isWhole !== true) return magnitude
    return magnitude + Math.sign(range.mildest - range.strongest)
  }

  /** Returns true for a position too close to one that could not be decided, or decided often. */
  #isBlocked(position: number): boolean {
    const { range, precision } = this.#settings
    const rounded = magnitudeAt(range, position)
    if (this.#points.filter(({ magnitude }) => magnitude === rounded).length >= OFTEN) return true
    const least = stepOf(range, 1 + precision / 2) - ROUNDING
    return this.#points.some(
      ({ magnitude, decision }) =>
        decision === 'undecided' && Math.abs(positionOf(range, magnitude) - position) < least,
    )
  }

  #isPrecise(): boolean {
    const { range, confidence, precision } = this.#settings
    const tail = (1 - confidence) / 2
    const posterior = this.#posterior
    if (posterior.below > tail || posterior.above > tail) return false
    return this.width <= stepOf(range, 1 + precision) + ROUNDING
  }
}

/** The limit as far as it is known. */
export interface Limit {
  /** `below`: the mildest magnitude fails; `above`: the strongest one passes. */
  readonly where: 'below' | 'within' | 'above'
  /** The most likely smallest magnitude that fails; null when it is beyond the range, or nothing failed yet. */
  readonly limit: number | null
  /** The credible interval; null for an end beyond the range. */
  readonly interval: readonly [number | null, number | null]
  /** True when the interval is as narrow as asked. */
  readonly isPrecise: boolean
}
