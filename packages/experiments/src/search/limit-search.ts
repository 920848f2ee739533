import {
  Bisection,
  type Limit,
  type Magnitudes,
  type Point,
  type Precision,
  magnitudeAt,
  positionOf,
  type Extent,
} from './bisection.ts'
import { type Batch, decide, type Decision, type ErrorRates, sum } from './sequential-test.ts'

/** The result of one run. */
export interface Measurement {
  readonly batches: readonly Batch[]
  /** The code of an event by which the magnitude fails without a count of calls. */
  readonly code?: string
}

/** The range of a parameter. */
export interface Span {
  readonly range: Extent
  /** Returns the strongest magnitude that may follow one that passed, or that may come first. */
  readonly widest: (passed: number | undefined) => number
}

export interface Settings extends Precision, Span, ErrorRates {
  /** The share of failed calls above which a magnitude fails. */
  readonly maxFailedShare: number
  /** The runs at one magnitude before it is undecided. */
  readonly runsAtOne: number
  /** The second parameter, where two are varied. */
  readonly second?: Span | undefined
}

/** The limit at one magnitude of the second parameter. */
export interface Step extends Limit {
  readonly second: number
}

/** The least number of magnitudes of the second parameter, and the greatest factor between two. */
const COLUMNS = 5
const MAX_FACTOR = 3
const ROUNDING = 1e-9
/** Limits the weight of one decision, which counts in several columns. */
const MAX_EVIDENCE = 50

/**
 * Searches the smallest magnitude that fails, by runs that somebody else makes. With a second
 * parameter, searches one for each of several of its magnitudes: the limits descend like a
 * staircase, because more of either parameter is never better. A pair that fails thus counts for
 * all stronger columns, and a pair that passes for all milder ones.
 */
export class LimitSearch {
  readonly #settings: Settings
  readonly #seconds: readonly (number | undefined)[]
  readonly #columns: readonly Bisection[]
  readonly #points: Point[] = []
  #open: { readonly at: Magnitudes; readonly batches: Batch[]; runs: number } | undefined

  constructor(settings: Settings, earlier: readonly Point[] = []) {
    this.#settings = settings
    this.#seconds = settings.second === undefined ? [undefined] : columnsOf(settings.second)
    // The intervals of all columns hold together with the asked confidence.
    const confidence = 1 - (1 - settings.confidence) / this.#seconds.length
    this.#columns = this.#seconds.map(() => new Bisection({ ...settings, confidence }))
    for (const point of earlier) this.#addPoint(point)
  }

  /** The decisions of the search, and the pairs that it dropped, in this order. */
  get points(): readonly Point[] {
    return this.#points
  }

  /** Returns where the next run measures; undefined when the search is over. */
  next(): Magnitudes | undefined {
    if (this.#open !== undefined) return this.#open.at
    const order = this.#columns
      .map(({ width }, index) => ({ width, index }))
      .toSorted((one, other) => other.width - one.width)
    for (const { index } of order) {
      const strongest = this.#strongest(index)
      const magnitude = strongest && this.#columns[index]!.place(strongest)
      const second = this.#seconds[index]
      if (magnitude !== undefined) return { magnitude, ...(second !== undefined && { second }) }
    }
    return undefined
  }

  /** Adds the result of a run where `next` said. */
  add(at: Magnitudes, { batches, code }: Measurement): void {
    const { maxFailedShare, falseFailed, runsAtOne } = this.#settings
    const open = (this.#open ??= { at, batches: [], runs: 0 })
    open.batches.push(...batches)
    open.runs++
    const { kind: decision, evidence }: Decision =
      code === undefined
        ? decide(open.batches, maxFailedShare, this.#settings)
        : { kind: 'failed', evidence: 1 / falseFailed }
    if (decision === 'undecided' && open.runs < runsAtOne) return
    this.#open = undefined
    const calls = sum(open.batches, 'calls')
    const failed = sum(open.batches, 'failed')
    const why = code === undefined ? {} : { code }
    this.#addPoint({ ...open.at, runs: open.runs, calls, failed, decision, evidence, ...why })
  }

  #addPoint(point: Point): void {
    const own = this.#seconds.indexOf(point.second)
    if (own < 0) return
    this.#points.push(point)
    const isAlone = this.#columns.length === 1
    const evidence = isAlone ? point.evidence : Math.min(point.evidence, MAX_EVIDENCE)
    for (const [index, column] of this.#columns.entries()) {
      if (index === own || (point.decision === 'failed' ? index > own : index < own)) {
        column.add({ ...point, evidence }, index === own)
      }
    }
  }

  /** Returns the decision on a batch that a run has not ended yet. */
  preview(batches: readonly Batch[]): Decision['kind'] {
    const all = [...(this.#open?.batches ?? []), ...batches]
    return decide(all, this.#settings.maxFailedShare, this.#settings).kind
  }

  /** The limit; with two parameters only whether there is one among all pairs. */
  get result(): Limit {
    const limits = this.#columns.map((column) => column.result)
    const first = limits[0]!
    if (limits.length === 1) return first
    const isAbove = limits.at(-1)!.where === 'above'
    const where = first.where === 'below' ? 'below' : isAbove ? 'above' : 'within'
    const isPrecise = limits.every((limit) => limit.isPrecise)
    return { where, limit: null, interval: [null, null], isPrecise }
  }

  /** The limits by the second parameter; undefined without one. */
  get boundary(): readonly Step[] | undefined {
    if (this.#settings.second === undefined) return undefined
    return this.#columns.map(({ result }, index) => ({ second: this.#seconds[index]!, ...result }))
  }

  /**
   * The mildest point that failed, at its limit or above it; none is milder in both parameters, and
   * none is a single failure where no magnitude of the range fails.
   */
  get failing(): Point | undefined {
    const { range, second } = this.#settings
    const limitOf = (point: Point): Limit =>
      this.#columns[this.#seconds.indexOf(point.second)]!.result
    const failed = this.#points.filter(
      (point) => point.decision === 'failed' && limitOf(point).where !== 'above',
    )
    const at = (magnitude: number): number => positionOf(range, magnitude)
    const beyond = failed.filter((point) => {
      const { limit } = limitOf(point)
      return limit === null || at(point.magnitude) >= at(limit)
    })
    const strength = (point: Point): number =>
      at(point.magnitude) + (second === undefined ? 0 : positionOf(second.range, point.second!))
    return (beyond.length > 0 ? beyond : failed).toSorted(
      (one, other) => strength(one) - strength(other),
    )[0]
  }

  /** Returns the strongest magnitude that may be tried now in a column; undefined for none. */
  #strongest(column: number): number | undefined {
    const { range, widest } = this.#settings
    const passedFrom = (first: number): readonly number[] =>
      this.#points
        .filter(({ decision }) => decision !== 'failed')
        .filter(({ second }) => this.#seconds.indexOf(second) >= first)
        .map(({ magnitude }) => positionOf(range, magnitude))
    const own = passedFrom(column)
    if (own.length > 0) return widest(magnitudeAt(range, Math.max(...own)))
    if (column === 0) return widest(undefined)
    // A run is stronger in one parameter than a pair that passed, never in both.
    const beside = passedFrom(column - 1)
    return beside.length === 0 ? undefined : magnitudeAt(range, Math.max(...beside))
  }
}

/** Returns magnitudes of the second parameter, from the mildest to the strongest. */
function columnsOf({ range, widest }: Span): readonly number[] {
  const steps = Math.abs(Math.log(range.strongest / range.mildest)) / Math.log(MAX_FACTOR)
  const step = 1 / Math.max(COLUMNS - 1, Math.ceil(steps))
  const columns = new Set<number>()
  for (let position = 0; position < 1 - ROUNDING;) {
    const magnitude = magnitudeAt(range, position)
    columns.add(magnitude)
    position = Math.min(position + step, positionOf(range, widest(magnitude)))
  }
  return [...columns.add(range.strongest)]
}
