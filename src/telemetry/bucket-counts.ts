import { exemplified, type Exemplar } from './exemplar.ts'
import { boundText, seriesText, type TextFormat } from './text-format.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'

/** Counts one histogram series in plain numbers, so that a call costs no allocation. */
export class BucketCounts {
  readonly #bounds: Float64Array
  readonly #counts: Float64Array
  #exemplars: (Exemplar | undefined)[] | undefined
  sum = 0

  constructor(bounds: Float64Array) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  observe(observed: number, trace?: string): void {
    // One wrong clock reading must not turn the sum into NaN forever.
    const value = observed > 0 && observed < Infinity ? observed : 0
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > bounds[i]!) i++
    this.#counts[i]!++
    this.sum += value
    if (trace !== undefined) this.#exemplify(i, trace, value)
  }

  /** Adds the count of each bucket to `totals`. */
  addTo(totals: Float64Array): void {
    for (let i = 0; i < this.#counts.length; i++) totals[i]! += this.#counts[i]!
  }

  /** Writes the lines of the series; `series` has the text before each number. */
  write(out: TextWriter, series: HistogramText, format: TextFormat): void {
    const { buckets, sum, count } = series.in(format)
    const exemplars = format === 'openmetrics' ? this.#exemplars : undefined
    let total = 0
    for (let i = 0; i < this.#counts.length; i++) {
      total += this.#counts[i]!
      out.line(buckets[i]!, total, exemplars?.[i]?.text)
    }
    out.line(sum, this.sum)
    out.line(count, total)
  }

  #exemplify(bucket: number, trace: string, value: number): void {
    this.#exemplars ??= Array.from(this.#counts, () => undefined)
    this.#exemplars[bucket] = exemplified(this.#exemplars[bucket], trace, value)
  }
}

interface Parts {
  readonly buckets: readonly LineStart[]
  readonly sum: LineStart
  readonly count: LineStart
}

/** Holds the text before the numbers of one histogram series, made at the first scrape. */
export class HistogramText {
  readonly #name: string
  readonly #labels: string
  readonly #bounds: Float64Array
  #prometheus: Parts | undefined
  #openmetrics: Parts | undefined

  /** `labels` is the text between the braces. */
  constructor(name: string, labels: string, bounds: Float64Array) {
    this.#name = name
    this.#labels = labels
    this.#bounds = bounds
  }

  in(format: TextFormat): Parts {
    if (format === 'prometheus') return (this.#prometheus ??= this.#make(format))
    return (this.#openmetrics ??= this.#make(format))
  }

  #make(format: TextFormat): Parts {
    const before = this.#labels === '' ? '' : `${this.#labels},`
    const bounds = [...this.#bounds, Infinity]
    return {
      buckets: bounds.map((bound) =>
        lineStart(seriesText(`${this.#name}_bucket`, `${before}le="${boundText(bound, format)}"`)),
      ),
      sum: lineStart(seriesText(`${this.#name}_sum`, this.#labels)),
      count: lineStart(seriesText(`${this.#name}_count`, this.#labels)),
    }
  }
}
