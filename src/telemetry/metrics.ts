import { BucketCounts, HistogramText } from './bucket-counts.ts'
import { CallCounts } from './call-counts.ts'
import type { LoggedLine } from './call-log.ts'
import { FaultCounts } from './fault-counts.ts'
import { HttpCounts } from './http-counts.ts'
import { inSlices } from './in-slices.ts'
import { bucketsOf, METRICS, type MetricName } from './metric-table.ts'
import { CONTENT_TYPE, nodeTexts } from './prom-registry.ts'
import { OutboundCounts } from './outbound-counts.ts'
import { TaskCounts } from './task-counts.ts'
import { RuleMetrics } from './rule-metrics.ts'
import type { RulesSource } from './rules-sample.ts'
import { byLabel, single } from './samples.ts'
import { END, familyText, type Sample, samplesText, type TextFormat } from './text-format.ts'
import { ChunkPool, TextWriter } from './text-writer.ts'
import { toolLabel } from './tool-label.ts'
import type { ToolSample } from './tool-sample.ts'
import type {
  CallRecord,
  GaugeName,
  GuardReason,
  HttpRecord,
  InjectedFault,
  MemorySource,
  RejectionReason,
  ReloadResult,
  Telemetry,
  UnclassifiedReason,
} from './telemetry.ts'
import {
  type TableName,
  zeroEvictions,
  zeroGauges,
  zeroGuardTrips,
  zeroRejections,
  zeroUnclassified,
} from './zero-counts.ts'

/** Holds the metrics of one scrape; `text` is the whole body. */
export interface Exposition {
  readonly contentType: string
  readonly body: readonly Uint8Array[]
  readonly text: string
  /** Releases the body for reuse; a caller calls it at most once. */
  readonly done?: () => void
}

/** Shares one rendering between scrapes that overlap. */
interface Rendering {
  readonly exposition: Promise<Exposition>
  readers: number
}

/** The cause of a rejected request on the admin port. */
export type AdminRejection = 'host' | 'token' | 'change'

/** Collects telemetry and renders it for scrapes. */
export interface Metrics extends Telemetry {
  /** Counts a request that the admin port rejected. */
  adminRejected(reason: AdminRejection): void
  /** Counts lines of the call log. */
  callsLogged(fate: LoggedLine, lines: number): void
  /** Shows these rules in later scrapes. */
  showRules(source: RulesSource): void
  /** Counts tasks of agents. */
  readonly tasks: TaskCounts
  /** Counts connections to dependencies. */
  readonly outbound: OutboundCounts
  /** The memory budget that scrapes show. */
  memory: MemorySource
  /** The violations of the protocol by a server on stdio, by reason, that scrapes show. */
  violations: Readonly<Record<string, number>>
  /** Renders in Prometheus' format by default; only OpenMetrics has exemplars. */
  render(format?: TextFormat): Promise<Exposition>
  /** Returns the calls by tool. */
  tools(): readonly ToolSample[]
}

/** Configures metrics. */
export interface MetricsOptions {
  readonly version: string
  /** Distinct tool names before the rest is counted as `other`. */
  readonly maxTools?: number
}

const OVERHEAD = 'squall_overhead_seconds'
const OVERHEAD_BOUNDS = bucketsOf(OVERHEAD)
/** Further tools are counted as `other`. */
const MAX_CANARY_TOOLS = 200

/** Creates counters and gauges. */
export function createMetrics(options: MetricsOptions): Metrics {
  return new PromMetrics(options)
}

class PromMetrics implements Metrics {
  readonly #build: Readonly<Record<string, string>>
  readonly #calls: CallCounts
  readonly #http = new HttpCounts()
  readonly #overhead = new BucketCounts(OVERHEAD_BOUNDS)
  readonly #overheadText = new HistogramText(OVERHEAD, '', OVERHEAD_BOUNDS)
  readonly #unclassified = zeroUnclassified()
  readonly #rejected = zeroRejections()
  readonly #adminRejected: Record<AdminRejection, number> = { host: 0, token: 0, change: 0 }
  readonly #logged: Record<LoggedLine, number> = { written: 0, dropped: 0 }
  readonly #gauges = zeroGauges()
  readonly #faults: FaultCounts
  readonly #canaryCalls = new Map<string, number>()
  readonly #rules = new RuleMetrics()
  readonly tasks: TaskCounts
  readonly outbound = new OutboundCounts()
  memory: MemorySource = { limit: 0, held: 0, keeping: { bytes: 0 }, pressure: {} }
  violations: Readonly<Record<string, number>> = {}
  readonly #reloads: Record<ReloadResult, number> = { applied: 0, rejected: 0, absent: 0 }
  readonly #guardTrips = zeroGuardTrips()
  readonly #evictions = zeroEvictions()
  readonly #rendering = new Map<TextFormat, Rendering>()
  readonly #pool = new ChunkPool()

  constructor(options: MetricsOptions) {
    const calls = new CallCounts(options.maxTools ?? 200)
    this.#calls = calls
    this.#faults = new FaultCounts((name) => calls.labelOf(name))
    this.tasks = new TaskCounts((name) => calls.labelOf(name))
    this.#build = { version: options.version, node: process.versions.node }
  }

  call(record: CallRecord): void {
    this.#calls.add(record)
  }

  http(record: HttpRecord): void {
    this.#http.add(record)
  }

  unclassified(reason: UnclassifiedReason): void {
    this.#unclassified[reason]++
  }

  rejected(reason: RejectionReason): void {
    this.#rejected[reason]++
  }

  adminRejected(reason: AdminRejection): void {
    this.#adminRejected[reason]++
  }

  callsLogged(fate: LoggedLine, lines: number): void {
    this.#logged[fate] += lines
  }

  overhead(seconds: number): void {
    this.#overhead.observe(seconds)
  }

  gauge(name: GaugeName, delta: number): void {
    this.#gauges[name] += delta
  }

  evicted(table: TableName): void {
    this.#evictions[table]++
  }

  injected(record: InjectedFault): void {
    this.#faults.add(record)
  }

  canaryReturned(tool: string | undefined): void {
    const label = toolLabel(tool ?? '')
    const isKnown = this.#canaryCalls.has(label) || this.#canaryCalls.size < MAX_CANARY_TOOLS
    const counted = isKnown ? label : 'other'
    this.#canaryCalls.set(counted, (this.#canaryCalls.get(counted) ?? 0) + 1)
  }

  reloaded(result: ReloadResult): void {
    this.#reloads[result]++
  }

  guardTripped(reason: GuardReason): void {
    this.#guardTrips[reason]++
  }

  showRules(source: RulesSource): void {
    this.#rules.source = source
  }

  tools(): readonly ToolSample[] {
    return this.#calls.tools()
  }

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
    this.#rules.refresh()
    const out = new TextWriter(this.#pool)
    await inSlices(this.#steps(out, format, node))
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
  *#steps(out: TextWriter, format: TextFormat, node: readonly string[]): Iterable<void> {
    const sources = this.#sources(out, format)
    for (const spec of METRICS) {
      out.text(familyText(spec, format))
      yield* sources[spec.name](spec.name)
    }
    for (const text of node) yield out.text(text)
    out.text(END[format])
  }

  /** Maps each metric of the table to the function that writes its lines. */
  #sources(
    out: TextWriter,
    format: TextFormat,
  ): Record<MetricName, (name: string) => Iterable<void>> {
    const gauges = this.#gauges
    const of = (samples: () => readonly Sample[]) => (name: string) => [
      out.text(samplesText(name, samples())),
    ]
    return {
      squall_calls_total: () => this.#calls.ended(out),
      squall_errors_total: () => this.#calls.failed(out, format),
      squall_calls_changed_total: () => this.#calls.changed(out, format),
      squall_call_duration_seconds: () => this.#calls.durations(out, format),
      squall_upstream_duration_seconds: () => this.#calls.upstreamDurations(out, format),
      squall_result_bytes: () => this.#calls.resultSizes(out, format),
      squall_overhead_seconds: () => [this.#overhead.write(out, this.#overheadText, format)],
      squall_http_requests_total: of(() => this.#http.samples()),
      squall_unclassified_total: of(() => byLabel('reason', this.#unclassified)),
      squall_stdio_violations_total: of(() => byLabel('reason', this.violations)),
      squall_rejected_total: of(() => byLabel('reason', this.#rejected)),
      squall_admin_rejected_total: of(() => byLabel('reason', this.#adminRejected)),
      squall_call_log_lines_total: of(() => byLabel('result', this.#logged)),
      squall_faults_injected_total: () => this.#faults.injected(out, format),
      squall_injected_delay_seconds: () => this.#faults.delays(out, format),
      squall_canary_calls_total: of(() =>
        [...this.#canaryCalls].map(([tool, value]) => ({ labels: { tool }, value })),
      ),
      ...this.tasks.sources(out, format, of),
      ...this.outbound.sources(out, format, of),
      squall_rule_matches_total: (name) => this.#rules.matches(out, name),
      squall_rule_sampled_total: (name) => this.#rules.sampled(out, name),
      squall_rule_evaluations_total: (name) => this.#rules.evaluations(out, name),
      squall_rule_values_too_long_total: (name) => this.#rules.valuesTooLong(out, name),
      squall_active_faults: (name) => this.#rules.active(out, name),
      squall_faults_overflow_total: (name) => this.#rules.overflows(out, name),
      squall_armed: of(() => this.#rules.armed()),
      squall_disarmed_reason: of(() => this.#rules.disarmedReasons()),
      squall_guard_trips_total: of(() => byLabel('reason', this.#guardTrips)),
      squall_rules_reloads_total: of(() => byLabel('result', this.#reloads)),
      squall_rules_last_reload_success: of(() => this.#rules.lastReloadSuccess()),
      squall_rules_last_reload_timestamp_seconds: of(() => this.#rules.lastReloadTime()),
      squall_rules_info: of(() => this.#rules.info()),
      squall_rules_unanchored: of(() => this.#rules.unanchored()),
      squall_header_faults_ignored_total: of(() => this.#rules.ignoredHeaders()),
      squall_connections: of(() =>
        byLabel('kind', {
          client: gauges.client_connections,
          upstream: gauges.upstream_connections,
          tunnel: gauges.tunnels,
        }),
      ),
      squall_open_streams: of(() =>
        byLabel('kind', { request: gauges.request_streams, push: gauges.push_streams }),
      ),
      squall_memory_held_bytes: of(() => single(this.memory.held)),
      squall_memory_kept_bytes: of(() => single(this.memory.keeping.bytes)),
      squall_memory_limit_bytes: of(() => single(this.memory.limit)),
      squall_memory_pressure_total: of(() => byLabel('reason', this.memory.pressure)),
      squall_sessions: of(() => single(gauges.sessions)),
      squall_in_flight_requests: of(() => single(gauges.in_flight_calls)),
      squall_table_evictions_total: of(() => byLabel('table', this.#evictions)),
      squall_tool_names_dropped_total: of(() => single(this.#calls.dropped)),
      squall_build_info: of(() => [{ labels: this.#build, value: 1 }]),
    }
  }
}
