import { Posterior } from './posterior.ts'
import { magnitudeAt, positionOf, type Range, stepOf } from './range.ts'
import { type Batch, decide, type Decision, type ErrorRates, sum } from './sequential-test.ts'

/** All measurements at one magnitude, and the decision on them. */
export interface Point {
  readonly magnitude: number
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

/** The result of one run. */
export interface Measurement {
  readonly batches: readonly Batch[]
  /** The code of an event by which the magnitude fails without a count of calls. */
  readonly code?: string
}

export interface Settings {
  readonly range: Range
  /** The share of failed calls above which a magnitude fails. */
  readonly maxFailedShare: number
  readonly errorRates: ErrorRates
  /** The relative width of the interval at which the search ends. */
  readonly precision: number
  /** The probability with which the interval has the limit. */
  readonly confidence: number
  /** The runs at one magnitude before it is undecided. */
  readonly runsAtOne: number
  /** Returns the greatest magnitude that may follow one that passed; all may without it. */
  readonly widest?: (passed: number | undefined) => number
}

/** Places the next magnitude, when the ones before are too close to the limit to be decided. */
const QUANTILES = [0.5, 0.25, 0.75, 0.125, 0.875]
const ROUNDING = 1e-9
/** The decisions at one magnitude after which another one would add nothing. */
const OFTEN = 3

/** Searches the smallest magnitude that fails, by runs that somebody else makes. */
export class Bisection {
  readonly #settings: Settings
  readonly #posterior = new Posterior()
  readonly #points: Point[] = []
  #open: { readonly magnitude: number; readonly batches: Batch[]; runs: number } | undefined

  constructor(settings: Settings, earlier: readonly Point[] = []) {
    this.#settings = settings
    for (const point of earlier) this.#addPoint(point)
  }

  /** The magnitudes on which the search has decided, or given up, in this order. */
  get points(): readonly Point[] {
    return this.#points
  }

  /** Returns the magnitude of the next run; undefined when the search is over. */
  next(): number | undefined {
    return this.#open?.magnitude ?? this.#place()
  }

  /** Adds the result of a run at the magnitude that `next` returned. */
  add(magnitude: number, { batches, code }: Measurement): void {
    const { maxFailedShare, errorRates, runsAtOne } = this.#settings
    const open = (this.#open ??= { magnitude, batches: [], runs: 0 })
    open.batches.push(...batches)
    open.runs++
    const decision: Decision =
      code === undefined
        ? decide(open.batches, maxFailedShare, errorRates)
        : { kind: 'failed', evidence: 1 / errorRates.falseFailed }
    if (decision.kind === 'undecided' && open.runs < runsAtOne) return
    this.#open = undefined
    this.#addPoint({ ...pointOf(open, decision), ...(code !== undefined && { code }) })
  }

  #addPoint(point: Point): void {
    const { magnitude, decision: kind, evidence } = point
    this.#points.push(point)
    this.#posterior.add(positionOf(this.#settings.range, magnitude), { kind, evidence })
  }

  /** Returns the decision on a batch that a run has not ended yet. */
  preview(batches: readonly Batch[]): Decision['kind'] {
    const { maxFailedShare, errorRates } = this.#settings
    return decide([...(this.#open?.batches ?? []), ...batches], maxFailedShare, errorRates).kind
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

  #place(): number | undefined {
    const { range } = this.#settings
    const posterior = this.#posterior
    if (this.#points.length > 0 && (this.result.where !== 'within' || this.#isPrecise())) {
      return undefined
    }
    const most = this.#mostAllowed()
    for (const share of QUANTILES) {
      const position = Math.min(most, posterior.quantile(share))
      if (!this.#isBlocked(position)) return magnitudeAt(range, position)
    }
    return undefined
  }

  /** Returns the strongest position that may be tried now. */
  #mostAllowed(): number {
    const { range, widest } = this.#settings
    if (widest === undefined) return 1
    const passed = this.#points
      .filter(({ decision }) => decision !== 'failed')
      .map(({ magnitude }) => positionOf(range, magnitude))
    if (passed.length === 0) return 0
    const strongest = magnitudeAt(range, Math.max(...passed))
    return Math.min(1, positionOf(range, widest(strongest)))
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
    const width = posterior.quantile(1 - tail) - posterior.quantile(tail)
    return width <= stepOf(range, 1 + precision) + ROUNDING
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

function pointOf(
  { magnitude, runs, batches }: { magnitude: number; runs: number; batches: readonly Batch[] },
  { kind: decision, evidence }: Decision,
): Point {
  const calls = sum(batches, 'calls')
  return { magnitude, runs, calls, failed: sum(batches, 'failed'), decision, evidence }
}
