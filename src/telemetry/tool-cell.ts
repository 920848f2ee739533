import type { Origin } from '../mcp/call.ts'
import { BucketCounts, HistogramText } from './bucket-counts.ts'
import { exemplified, type Exemplar } from './exemplar.ts'
import { bucketsOf } from './metric-table.ts'
import { ENDS, noCounts, ORIGIN, ORIGINS } from './outcome-index.ts'
import type { CallRecord } from './telemetry.ts'
import { labelsText, seriesText, type TextFormat } from './text-format.ts'
import { type LineStart, lineStart, type TextWriter } from './text-writer.ts'
import type { ToolSample } from './tool-sample.ts'

const CALL = 'squall_call_duration_seconds'
const UPSTREAM = 'squall_upstream_duration_seconds'
const CALL_BOUNDS = bucketsOf(CALL)
const UPSTREAM_BOUNDS = bucketsOf(UPSTREAM)
const RESULT = 'squall_result_bytes'
const RESULT_BOUNDS = bucketsOf(RESULT)

/** Mutable counts by origin. */
export type Counts = Record<Origin, number>

/** Counts by tool alone; the calls of all other methods share the empty tool. */
export class ToolCell {
  readonly tool: string
  readonly #call: (BucketCounts | undefined)[] = ORIGINS.map(() => undefined)
  #upstream: BucketCounts | undefined
  #result: BucketCounts | undefined
  #changed = 0
  #changedExemplar: Exemplar | undefined
  #errorExemplars: (Exemplar | undefined)[] | undefined
  #text: ToolText | undefined

  constructor(tool: string) {
    this.tool = tool
  }

  /** Counts how a call ended; `end` is the index of its outcome and origin. */
  add({ trace, changed }: CallRecord, end: number): void {
    if (changed === true) this.#changed++
    if (trace !== undefined) this.#exemplify(trace, end, changed === true)
  }

  /** Counts the durations of a call. */
  time({ origin, seconds, upstreamSeconds, trace }: CallRecord): void {
    const from = ORIGIN[origin]
    if (seconds !== undefined) {
      const counts = (this.#call[from] ??= new BucketCounts(CALL_BOUNDS))
      counts.observe(seconds, trace)
    }
    if (upstreamSeconds !== undefined) {
      const counts = (this.#upstream ??= new BucketCounts(UPSTREAM_BOUNDS))
      counts.observe(upstreamSeconds, trace)
    }
  }

  /** Counts the size of a result. */
  addResult(bytes: number): void {
    const counts = (this.#result ??= new BucketCounts(RESULT_BOUNDS))
    counts.observe(bytes)
  }

  /** Writes the lines of the calls' durations. */
  durations(out: TextWriter, format: TextFormat): void {
    for (let i = 0; i < this.#call.length; i++) {
      this.#call[i]?.write(out, this.#texts.call[i]!, format)
    }
  }

  /** Writes the lines of the upstream's response times. */
  upstreamDurations(out: TextWriter, format: TextFormat): void {
    this.#upstream?.write(out, this.#texts.upstream, format)
  }

  /** Writes the lines of the sizes of results. */
  resultSizes(out: TextWriter, format: TextFormat): void {
    this.#result?.write(out, this.#texts.result, format)
  }

  /** Writes the lines of the calls that failed; `ends` counts calls by outcome and origin. */
  failed(out: TextWriter, ends: Float64Array, format: TextFormat): void {
    for (let i = 0; i < ends.length; i++) {
      const value = ends[i]!
      if (value === 0 || !ENDS[i]!.isError) continue
      const exemplar = format === 'openmetrics' ? this.#errorExemplars?.[i] : undefined
      out.line(this.#texts.errorOf(i), value, exemplar?.text)
    }
  }

  /** Writes the line of the calls that ended well, but changed by a fault. */
  changed(out: TextWriter, format: TextFormat): void {
    const exemplar = format === 'openmetrics' ? this.#changedExemplar : undefined
    out.line(this.#texts.changed, this.#changed, exemplar?.text)
  }

  /** Returns durations and sizes, and zeros for the calls. */
  sample(): ToolSample & { calls: Counts; errors: Counts } {
    const seconds = new Float64Array(CALL_BOUNDS.length + 1)
    const upstreamSeconds = new Float64Array(UPSTREAM_BOUNDS.length + 1)
    for (const counts of this.#call) counts?.addTo(seconds)
    this.#upstream?.addTo(upstreamSeconds)
    return {
      tool: this.tool,
      calls: noCounts(),
      errors: noCounts(),
      seconds: { bounds: CALL_BOUNDS, counts: seconds },
      upstreamSeconds: { bounds: UPSTREAM_BOUNDS, counts: upstreamSeconds },
      results: { count: this.#result?.count ?? 0, bytes: this.#result?.sum ?? 0 },
    }
  }

  get #texts(): ToolText {
    return (this.#text ??= new ToolText(this.tool))
  }

  #exemplify(trace: string, end: number, changed: boolean): void {
    if (changed) this.#changedExemplar = exemplified(this.#changedExemplar, trace)
    if (!ENDS[end]!.isError) return
    const exemplars = (this.#errorExemplars ??= ENDS.map(() => undefined))
    exemplars[end] = exemplified(exemplars[end], trace)
  }
}

/** Holds the text before a tool's numbers, made at the first scrape. */
class ToolText {
  readonly call: readonly HistogramText[]
  readonly upstream: HistogramText
  readonly result: HistogramText
  readonly changed: LineStart
  readonly #tool: string
  readonly #errors: (LineStart | undefined)[] = ENDS.map(() => undefined)

  constructor(tool: string) {
    this.#tool = tool
    const labels = labelsText({ tool })
    this.call = ORIGINS.map(
      (origin) => new HistogramText(CALL, labelsText({ tool, origin }), CALL_BOUNDS),
    )
    this.upstream = new HistogramText(UPSTREAM, labels, UPSTREAM_BOUNDS)
    this.result = new HistogramText(RESULT, labels, RESULT_BOUNDS)
    this.changed = lineStart(seriesText('squall_calls_changed_total', labels))
  }

  errorOf(end: number): LineStart {
    return (this.#errors[end] ??= this.#error(end))
  }

  #error(end: number): LineStart {
    const { outcome, origin } = ENDS[end]!
    const labels = labelsText({ tool: this.#tool, kind: outcome, origin })
    return lineStart(seriesText('squall_errors_total', labels))
  }
}
