import type { Origin } from '../mcp/call.ts'
import { BucketCounts, HistogramText } from './bucket-counts.ts'
import { exemplified, type Exemplar } from './exemplar.ts'
import { bucketsOf } from './metric-table.ts'
import { ENDS, ORIGIN, ORIGINS } from './outcome-places.ts'
import type { CallRecord } from './telemetry.ts'
import { labelsText, seriesText, type TextFormat } from './text-format.ts'
import type { ToolSample } from './tool-sample.ts'

const CALL = 'squall_call_duration_seconds'
const UPSTREAM = 'squall_upstream_duration_seconds'
const CALL_BOUNDS = bucketsOf(CALL)
const UPSTREAM_BOUNDS = bucketsOf(UPSTREAM)

/** Calls or errors by who made them so, as they are added up. */
export type Counts = Record<Origin, number>

/** What is counted by tool alone; the calls of all other methods share the empty tool. */
export class ToolCell {
  readonly tool: string
  readonly #call: (BucketCounts | undefined)[] = ORIGINS.map(() => undefined)
  #upstream: BucketCounts | undefined
  #changed = 0
  #changedExemplar: Exemplar | undefined
  #errorExemplars: (Exemplar | undefined)[] | undefined
  #text: ToolText | undefined

  constructor(tool: string) {
    this.tool = tool
  }

  /** `end` is where the call is counted among all that ended. */
  add(record: CallRecord, end: number): void {
    const { origin, seconds, upstreamSeconds, trace } = record
    const from = ORIGIN[origin]
    if (seconds !== undefined) {
      const counts = (this.#call[from] ??= new BucketCounts(CALL_BOUNDS))
      counts.observe(seconds, trace)
    }
    if (upstreamSeconds !== undefined) {
      const counts = (this.#upstream ??= new BucketCounts(UPSTREAM_BOUNDS))
      counts.observe(upstreamSeconds, trace)
    }
    if (record.changed === true) this.#changed++
    if (trace !== undefined) this.#exemplify(trace, end, record.changed === true)
  }

  /** The lines of the calls' durations. */
  durations(format: TextFormat): string {
    let text = ''
    for (const [i, counts] of this.#call.entries()) {
      if (counts !== undefined) text += counts.text(this.#texts.call[i]!, format)
    }
    return text
  }

  /** The lines of what the app took. */
  upstreamDurations(format: TextFormat): string {
    return this.#upstream?.text(this.#texts.upstream, format) ?? ''
  }

  /** The lines of the calls that failed; `ends` has how many calls ended how. */
  failed(ends: Float64Array, format: TextFormat): string {
    let text = ''
    for (const [i, value] of ends.entries()) {
      if (value === 0 || !ENDS[i]!.isError) continue
      const exemplar = format === 'openmetrics' ? this.#errorExemplars?.[i] : undefined
      text += `${this.#texts.errorOf(i)}${value}${exemplar?.text ?? ''}\n`
    }
    return text
  }

  /** The line of the calls that ended well although a fault changed them. */
  changed(format: TextFormat): string {
    const exemplar = format === 'openmetrics' ? this.#changedExemplar : undefined
    return `${this.#texts.changed}${this.#changed}${exemplar?.text ?? ''}\n`
  }

  /** The durations, with no calls counted yet. */
  sample(): ToolSample & { calls: Counts; errors: Counts } {
    const seconds = new Float64Array(CALL_BOUNDS.length + 1)
    const upstreamSeconds = new Float64Array(UPSTREAM_BOUNDS.length + 1)
    for (const counts of this.#call) counts?.addTo(seconds)
    this.#upstream?.addTo(upstreamSeconds)
    return {
      tool: this.tool,
      calls: { upstream: 0, injected: 0, squall: 0 },
      errors: { upstream: 0, injected: 0, squall: 0 },
      seconds: { bounds: CALL_BOUNDS, counts: seconds },
      upstreamSeconds: { bounds: UPSTREAM_BOUNDS, counts: upstreamSeconds },
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

/** What stands before a tool's numbers: written once, when somebody scrapes. */
class ToolText {
  readonly call: readonly HistogramText[]
  readonly upstream: HistogramText
  readonly changed: string
  readonly #tool: string
  readonly #errors: (string | undefined)[] = ENDS.map(() => undefined)

  constructor(tool: string) {
    this.#tool = tool
    const labels = labelsText({ tool })
    this.call = ORIGINS.map(
      (origin) => new HistogramText(CALL, labelsText({ tool, origin }), CALL_BOUNDS),
    )
    this.upstream = new HistogramText(UPSTREAM, labels, UPSTREAM_BOUNDS)
    this.changed = seriesText('squall_calls_changed_total', labels)
  }

  errorOf(end: number): string {
    const { outcome, origin } = ENDS[end]!
    return (this.#errors[end] ??= seriesText(
      'squall_errors_total',
      labelsText({ tool: this.#tool, kind: outcome, origin }),
    ))
  }
}
