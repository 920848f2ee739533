import { Posterior } from './posterior.ts'
import { magnitudeAt, positionOf, type Range, stepOf } from './range.ts'
import type { Decision } from './sequential-test.ts'

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
  readonly range: Range
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

  constructor(settings: Precision) {
    this.#settings = settings
  }

  /** Adds a point, or one that another search has decided and that says the same of this limit. */
  add(point: Point, isOwn = true): void {
    const { magnitude, decision: kind, evidence } = point
    if (isOwn) this.#points.push(point)
    this.#isBegun ||= kind !== 'undecided'
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
      limit: where === 'within' ? at(0.5) : null,
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
  /** The most likely smallest magnitude that fails; null when the limit lies beyond the range. */
  readonly limit: number | null
  /** The credible interval; null for an end beyond the range. */
  readonly interval: readonly [number | null, number | null]
  /** True when the interval is as narrow as asked. */
  readonly isPrecise: boolean
}
