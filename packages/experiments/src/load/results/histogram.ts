import type { HistogramData, Latency, LatencySummary } from './result.ts'

/** The buckets per doubling: the relative error of a value is at most 1/256. */
const PER_OCTAVE = 128
/** About 19 hours in microseconds; longer latencies count as this. */
const MAX_VALUE = 2 ** 36
const BUCKETS = bucketOf(MAX_VALUE) + 1

/** Counts latencies in buckets that grow with the value. */
export class Histogram {
  readonly #counts = new Map<number, number>()
  #count = 0
  #sum = 0
  #min = Infinity
  #max = 0

  static from(data: HistogramData): Histogram {
    const histogram = new Histogram()
    histogram.addAll(data)
    return histogram
  }

  get count(): number {
    return this.#count
  }

  /** Adds calls with a latency in milliseconds. */
  add(ms: number, calls = 1): void {
    const value = Math.min(MAX_VALUE, Math.max(0, Math.round(ms * 1000)))
    const bucket = bucketOf(value)
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + calls)
    this.#count += calls
    this.#sum += value * calls
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  /** Adds the values of another histogram. */
  addAll(data: HistogramData): void {
    if (data.count === 0) return
    let bucket = 0
    for (let i = 0; i + 1 < data.buckets.length; i += 2) {
      bucket += data.buckets[i]!
      if (bucket >= BUCKETS) throw new RangeError('invalid histogram bucket')
      this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + data.buckets[i + 1]!)
    }
    this.#count += data.count
    this.#sum += data.sum
    this.#min = Math.min(this.#min, data.min)
    this.#max = Math.max(this.#max, data.max)
  }

  /** Returns the quantile in milliseconds; null for an empty histogram. */
  quantile(share: number): number | null {
    if (this.#count === 0) return null
    const rank = Math.max(1, Math.ceil(share * this.#count))
    let seen = 0
    for (const [bucket, count] of this.#sorted()) {
      seen += count
      if (seen >= rank) return Math.min(this.#max, Math.max(this.#min, middleOf(bucket))) / 1000
    }
    return this.#max / 1000
  }

  /** Counts the values up to a number of milliseconds, with the precision of the buckets. */
  countUpTo(ms: number): number {
    const limit = ms * 1000
    let seen = 0
    for (const [bucket, count] of this.#counts) if (middleOf(bucket) <= limit) seen += count
    return seen
  }

  /** Returns the values in milliseconds, the lowest first, with their numbers. */
  values(): readonly (readonly [ms: number, count: number])[] {
    return this.#sorted().map(([bucket, count]) => [middleOf(bucket) / 1000, count])
  }

  get sumMs(): number {
    return this.#sum / 1000
  }

  summary(): LatencySummary {
    const inMs = (us: number): number | null => (this.#count === 0 ? null : rounded(us / 1000))
    return {
      mean: inMs(this.#sum / this.#count),
      min: inMs(this.#min),
      p50: rounded(this.quantile(0.5)),
      p90: rounded(this.quantile(0.9)),
      p95: rounded(this.quantile(0.95)),
      p99: rounded(this.quantile(0.99)),
      p999: rounded(this.quantile(0.999)),
      max: inMs(this.#max),
    }
  }

  data(): HistogramData {
    const buckets: number[] = []
    let last = 0
    for (const [bucket, count] of this.#sorted()) {
      buckets.push(bucket - last, count)
      last = bucket
    }
    const min = this.#count === 0 ? 0 : this.#min
    return {
      unit: 'us',
      perOctave: PER_OCTAVE,
      count: this.#count,
      sum: this.#sum,
      min,
      max: this.#max,
      buckets,
    }
  }

  latency(): Latency {
    return { summary: this.summary(), histogram: this.data() }
  }

  #sorted(): readonly (readonly [number, number])[] {
    return [...this.#counts].sort(([a], [b]) => a - b)
  }
}

/** Returns the bucket of a value: one per value below 128, then 128 per doubling. */
function bucketOf(value: number): number {
  if (value < PER_OCTAVE) return value
  const octave = Math.floor(Math.log2(value)) - 7
  const scaled = Math.floor(value / 2 ** octave)
  // Corrects the rounding error of the logarithm next to powers of two.
  if (scaled >= 2 * PER_OCTAVE) return (octave + 2) * PER_OCTAVE
  if (scaled < PER_OCTAVE) return (octave + 1) * PER_OCTAVE - 1
  return octave * PER_OCTAVE + scaled
}

function middleOf(bucket: number): number {
  if (bucket < PER_OCTAVE) return bucket
  const octave = Math.floor(bucket / PER_OCTAVE) - 1
  const low = (bucket - octave * PER_OCTAVE) * 2 ** octave
  return low + (2 ** octave - 1) / 2
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000
}
