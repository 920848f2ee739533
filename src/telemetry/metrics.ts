import { inSlices } from './in-slices.ts'
import { METRICS, type MetricName, type MetricsDetail } from './metric-table.ts'
import { CONTENT_TYPE, nodeTexts } from './prom-registry.ts'
import { OutboundCounts } from './outbound-counts.ts'
import { WatchedCounts } from './watched-counts.ts'
import { TaskCounts } from './task-counts.ts'
import { RuleMetrics } from './rule-metrics.ts'
import type { RulesSource } from './rules-sample.ts'
import { Count, type Series } from './series.ts'
import { TelemetryCounts } from './telemetry-counts.ts'
import { END, type Exposition, familyText, type TextFormat } from './text-format.ts'
import { ChunkPool, TextWriter } from './text-writer.ts'
import type { ToolSample } from './tool-sample.ts'
import type { MemorySource } from './telemetry.ts'

/** Shares one rendering between scrapes that overlap. */
interface Rendering {
  readonly exposition: Promise<Exposition>
  readers: number
}

/** The cause of a rejected request on the admin port. */
export type AdminRejection = 'host' | 'token' | 'change'

/** Configures metrics. */
export interface MetricsOptions {
  readonly version: string
  /** Distinct tool names before the rest is counted as `other`. */
  readonly maxTools?: number
  /** `full` by default. */
  readonly detail?: MetricsDetail | undefined
}

/** Collects telemetry and renders it for scrapes. */
export class Metrics extends TelemetryCounts {
  readonly #build: Count
  readonly #adminRejected: Record<AdminRejection, number> = { host: 0, token: 0, change: 0 }
  /** Counts lines of the call log, messages of the tape, and spans that were not exported. */
  readonly outputs = {
    callLog: { written: 0, dropped: 0 },
    tape: { written: 0, dropped: 0 },
    droppedSpans: 0,
  }
  /** Counts what faults put into results, and agents then used. */
  readonly watched = new WatchedCounts()
  readonly #rules = new RuleMetrics()
  /** Counts tasks of agents. */
  readonly tasks: TaskCounts
  /** Counts connections to dependencies. */
  readonly outbound: OutboundCounts
  /** The memory budget that scrapes show. */
  memory: MemorySource = { limit: 0, held: 0, cacheBudget: { bytes: 0 }, pressure: {} }
  /** The violations of the protocol by a server on stdio, by reason, that scrapes show. */
  violations: Readonly<Record<string, number>> = {}
  readonly #rendering = new Map<TextFormat, Rendering>()
  readonly #pool = new ChunkPool()

  constructor(options: MetricsOptions) {
    const { maxTools, detail } = options
    super(maxTools, detail)
    this.tasks = new TaskCounts((name) => this.calls.labelOf(name), detail)
    this.outbound = new OutboundCounts(detail)
    const build = { version: options.version, node: process.versions.node }
    this.#build = new Count('squall_build_info', build, 1)
  }

  /** Counts a request that the admin port rejected. */
  adminRejected(reason: AdminRejection): void {
    this.#adminRejected[reason]++
  }

  /** Shows these rules in later scrapes. */
  showRules(source: RulesSource): void {
    this.#rules.source = source
  }

  /** Returns the calls by tool. */
  tools(): readonly ToolSample[] {
    return this.calls.tools()
  }

  /** Renders in Prometheus' format by default; only OpenMetrics has exemplars. */
  render(format: TextFormat = 'prometheus'): Promise<Exposition> {
    const rendering = this.#rendering.get(format) ?? this.#begin(format)
    rendering.readers++
    return rendering.exposition
  }

  #begin(format: TextFormat): Rendering {
    const isLast = (): boolean => --rendering.readers === 0
    const exposition = this.#render(format, isLast).finally(() => this.#rendering.delete(format))
    const rendering: Rendering = { exposition, readers: 0 }
    this.#rendering.set(format, rendering)
    return rendering
  }

  async #render(format: TextFormat, isLast: () => boolean): Promise<Exposition> {
    const node = await nodeTexts(format)
    const out = new TextWriter(this.#pool, format)
    await inSlices(this.#steps(out, node))
    const body = out.end()
    return {
      contentType: CONTENT_TYPE[format],
      body,
      get text(): string {
        return Buffer.concat(body).toString('utf8')
      },
      done: () => {
        if (isLast()) out.giveBack()
      },
    }
  }

  /** Writes all metrics; yields where the work can be interrupted. */
  *#steps(out: TextWriter, node: readonly string[]): Iterable<void> {
    const sources = this.#sources()
    for (const spec of METRICS) {
      out.text(familyText(spec, out.format))
      for (const series of seriesOf(spec, sources[spec.name])) yield series?.write(out)
    }
    for (const text of node) yield out.text(text)
    out.text(END[out.format])
  }

  /** Maps each metric of the table to what it shows. */
  #sources(): Record<MetricName, Source> {
    return {
      ...this.recorded(),
      ...this.tasks.sources(),
      ...this.outbound.sources(),
      ...this.watched.sources(),
      ...this.#rules.sources(),
      squall_stdio_violations_total: this.violations,
      squall_admin_rejected_total: this.#adminRejected,
      squall_call_log_lines_total: this.outputs.callLog,
      squall_tape_messages_total: this.outputs.tape,
      squall_spans_dropped_total: this.outputs.droppedSpans,
      squall_memory_held_bytes: this.memory.held,
      squall_memory_kept_bytes: this.memory.cacheBudget.bytes,
      squall_memory_limit_bytes: this.memory.limit,
      squall_memory_pressure_total: this.memory.pressure,
      squall_build_info: [this.#build],
    }
  }
}

/** A number without labels, numbers by the only label of the metric, or series. */
type Source =
  number | undefined | Readonly<Record<string, number | boolean>> | Iterable<Series | undefined>

function seriesOf({ name, labels }: (typeof METRICS)[number], source: Source) {
  if (source === undefined) return []
  if (typeof source === 'number') return [new Count(name, {}, source)]
  if (isSeries(source)) return source
  const [label = ''] = labels
  return Object.entries(source).map(
    ([value, number]) => new Count(name, { [label]: value }, Number(number)),
  )
}

function isSeries(source: object): source is Iterable<Series | undefined> {
  return Symbol.iterator in source
}
