import { exemplified, type Exemplar } from './exemplar.ts'
import { bucketsOf, type MetricName, type MetricsDetail } from './metric-table.ts'
import { boundText, labelsText, OTHER, seriesText, type TextFormat } from './text-format.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'

/** The labels of a series, in the order of its text. */
export type Labels = Readonly<Record<string, string>>

/** One or more series, whose lines a scrape writes in one step. */
export interface Series {
  write(out: TextWriter): void
}

/** Counts one series in a plain number, so that a count costs no allocation. */
export class Count<L extends Labels = Labels> implements Series {
  readonly labels: L
  value: number
  readonly #name: MetricName
  #exemplar: Exemplar | undefined
  /** The text before the number, made at the first scrape. */
  #start: LineStart | undefined

  constructor(name: MetricName, labels: L, value = 0) {
    this.#name = name
    this.labels = labels
    this.value = value
  }

  add(trace?: string): void {
    this.value++
    if (trace !== undefined) this.#exemplar = exemplified(this.#exemplar, trace)
  }

  write(out: TextWriter): void {
    this.#start ??= startOf(this.#name, this.labels)
    out.line(this.#start, this.value, this.#exemplar)
  }
}

/** Counts series whose labels are known by an index; those that counted nothing are not shown. */
export class CountRow implements Series {
  readonly counts: Float64Array
  readonly #name: MetricName
  readonly #labelsOf: (index: number) => Labels
  #exemplars: Exemplar[] | undefined
  /** The texts before the numbers, made at the first scrape. */
  #starts: LineStart[] | undefined

  constructor(name: MetricName, length: number, labelsOf: (index: number) => Labels) {
    this.#name = name
    this.#labelsOf = labelsOf
    this.counts = new Float64Array(length)
  }

  exemplify(index: number, trace: string): void {
    this.#exemplars ??= []
    this.#exemplars[index] = exemplified(this.#exemplars[index], trace)
  }

  write(out: TextWriter): void {
    const starts = (this.#starts ??= [])
    this.counts.forEach((count, index) => {
      if (count === 0) return
      starts[index] ??= startOf(this.#name, this.#labelsOf(index))
      out.line(starts[index], count, this.#exemplars?.[index])
    })
  }
}

/** Counts by labels; where series are bounded, further ones count under the tool `other`. */
export class Counts<L extends Labels = Labels> implements Iterable<Count<L>> {
  readonly #name: MetricName
  readonly #most: number
  readonly #series = new Map<string, Count<L>>()

  constructor(name: MetricName, most = Infinity) {
    this.#name = name
    this.#most = most
  }

  add(labels: L, trace?: string): void {
    let key = ''
    for (const label in labels) key += `${labels[label]}\n`
    const known = this.#series.get(key)
    if (known !== undefined) return known.add(trace)
    if (this.#series.size >= this.#most && labels['tool'] !== OTHER) {
      return this.add({ ...labels, tool: OTHER }, trace)
    }
    const count = new Count(this.#name, labels)
    this.#series.set(key, count)
    count.add(trace)
  }

  [Symbol.iterator](): Iterator<Count<L>> {
    return this.#series.values()
  }
}

/** Counts one series of a histogram in plain numbers, so that a call costs no allocation. */
export class Histogram implements Series {
  readonly #name: MetricName
  readonly #labels: Labels
  readonly #bounds: Float64Array
  readonly #counts: Float64Array
  #exemplars: (Exemplar | undefined)[] | undefined
  /** The text before each number, made at the first scrape. */
  readonly #starts: Partial<Record<TextFormat, readonly LineStart[]>> = {}
  sum = 0

  constructor(name: MetricName, labels: Labels = {}, detail?: MetricsDetail) {
    this.#name = name
    this.#labels = labels
    this.#bounds = bucketsOf(name, detail)
    this.#counts = new Float64Array(this.#bounds.length + 1)
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

  write(out: TextWriter): void {
    const starts = (this.#starts[out.format] ??= this.#makeStarts(out.format))
    const buckets = this.#counts.length
    let total = 0
    for (let i = 0; i < buckets; i++) {
      total += this.#counts[i]!
      out.line(starts[i]!, total, this.#exemplars?.[i])
    }
    out.line(starts[buckets]!, this.sum)
    out.line(starts[buckets + 1]!, total)
  }

  #makeStarts(format: TextFormat): readonly LineStart[] {
    const bounds = [...this.#bounds, Infinity].map((bound) => boundText(bound, format))
    return [
      ...bounds.map((le) => startOf(`${this.#name}_bucket`, { ...this.#labels, le })),
      startOf(`${this.#name}_sum`, this.#labels),
      startOf(`${this.#name}_count`, this.#labels),
    ]
  }

  #exemplify(bucket: number, trace: string, value: number): void {
    this.#exemplars ??= Array.from(this.#counts, () => undefined)
    this.#exemplars[bucket] = exemplified(this.#exemplars[bucket], trace, value)
  }
}

function startOf(name: string, labels: Labels): LineStart {
  return lineStart(seriesText(name, labelsText(labels)))
}
