import type { Registry } from 'prom-client'
import { BucketCounts } from './bucket-counts.ts'
import { CallCounts } from './call-counts.ts'
import { FaultCounts } from './fault-counts.ts'
import { HttpCounts } from './http-counts.ts'
import { bucketsOf, METRICS, type MetricName } from './metric-table.ts'
import { RuleMetrics } from './rule-metrics.ts'
import type { RulesSource } from './rules-sample.ts'
import { pushHistogram, type Sample, SampledMetric } from './sampled-metric.ts'
import type { ToolSample } from './tool-sample.ts'
import type {
  CallRecord,
  GaugeName,
  GuardReason,
  HttpRecord,
  InjectedFault,
  RefusalReason,
  ReloadResult,
  Telemetry,
  UnclassifiedReason,
} from './telemetry.ts'

/** What a scrape is answered with. */
export interface Exposition {
  readonly contentType: string
  readonly text: string
}

/** Telemetry that can be scraped. */
export interface Metrics extends Telemetry {
  /** From here on scrapes show these rules. */
  showRules(source: RulesSource): void
  render(): Promise<Exposition>
  /** The calls by tool, for whoever shows them otherwise than by a scrape. */
  tools(): readonly ToolSample[]
}

/** What metrics need to know of the program. */
export interface MetricsOptions {
  readonly version: string
  /** Distinct tool names before the rest is counted as `other`. */
  readonly maxTools?: number
}

// Each scrape would list every open file or socket: with thousands of them, milliseconds in which
// no traffic moves. How many connections there are is told by a gauge of our own.
const COSTLY_DEFAULTS = [
  'process_open_fds',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
] as const

type TableName = Parameters<Telemetry['evicted']>[0]

/** Counters and gauges with a registry of their own. */
export function createMetrics(options: MetricsOptions): Metrics {
  return new PromMetrics(options)
}

class PromMetrics implements Metrics {
  readonly #version: string
  #registry: Promise<Registry> | undefined
  readonly #calls: CallCounts
  readonly #http = new HttpCounts()
  readonly #overhead = new BucketCounts(bucketsOf('squall_overhead_seconds'))
  readonly #unclassified: Record<UnclassifiedReason, number> = {
    too_large: 0,
    not_json: 0,
    not_json_rpc: 0,
    encoding: 0,
    too_many_messages: 0,
    internal_error: 0,
  }
  readonly #refused: Record<RefusalReason, number> = {
    upstream_unreachable: 0,
    upstream_protocol: 0,
    overload: 0,
    ambiguous_request: 0,
    bad_request: 0,
    internal_error: 0,
    slow_client: 0,
  }
  readonly #gauges: Record<GaugeName, number> = {
    client_connections: 0,
    upstream_connections: 0,
    request_streams: 0,
    push_streams: 0,
    tunnels: 0,
    sessions: 0,
    pending_calls: 0,
  }
  readonly #faults: FaultCounts
  readonly #rules = new RuleMetrics()
  readonly #reloads: Record<ReloadResult, number> = { applied: 0, refused: 0, absent: 0 }
  readonly #guardTrips: Record<GuardReason, number> = { error_rate: 0 }
  readonly #evictions: Record<TableName, number> = { sessions: 0, pending_calls: 0, endpoints: 0 }
  #rendering: Promise<Exposition> | undefined

  constructor(options: MetricsOptions) {
    const calls = new CallCounts(options.maxTools ?? 200)
    this.#calls = calls
    this.#faults = new FaultCounts((name) => calls.toolOf(name))
    this.#version = options.version
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

  refused(reason: RefusalReason): void {
    this.#refused[reason]++
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

  /** Scrapes that overlap share one rendering, so that many scrapers cost what one does. */
  render(): Promise<Exposition> {
    this.#rendering ??= this.#render().finally(() => {
      this.#rendering = undefined
    })
    return this.#rendering
  }

  async #render(): Promise<Exposition> {
    this.#registry ??= this.#register()
    const registry = await this.#registry
    this.#rules.refresh()
    const text = await registry.metrics()
    return { contentType: registry.contentType, text }
  }

  /** Loaded when somebody asks: where nobody scrapes, its memory is not spent. */
  async #register(): Promise<Registry> {
    const { collectDefaultMetrics, Registry } = await import('prom-client')
    const registry = new Registry()
    const sources = this.#sources(this.#version)
    for (const spec of METRICS) {
      new SampledMetric(spec, sources[spec.name]).registerIn(registry)
    }
    collectDefaultMetrics({ register: registry })
    for (const name of COSTLY_DEFAULTS) registry.removeSingleMetric(name)
    return registry
  }

  /** Where each metric of the table takes its samples from. */
  #sources(version: string): Record<MetricName, () => Sample[]> {
    const gauges = this.#gauges
    return {
      squall_calls_total: () => this.#calls.ended(),
      squall_errors_total: () => this.#calls.failed(),
      squall_call_duration_seconds: () => this.#calls.durations(),
      squall_upstream_duration_seconds: () => this.#calls.upstreamDurations(),
      squall_overhead_seconds: () => {
        const samples: Sample[] = []
        pushHistogram(samples, 'squall_overhead_seconds', {}, this.#overhead)
        return samples
      },
      squall_http_requests_total: () => this.#http.samples(),
      squall_unclassified_total: () => byLabel('reason', this.#unclassified),
      squall_refused_total: () => byLabel('reason', this.#refused),
      squall_faults_injected_total: () => this.#faults.injected(),
      squall_injected_delay_seconds: () => this.#faults.delays(),
      squall_rule_matches_total: () => this.#rules.matches(),
      squall_rule_draws_total: () => this.#rules.draws(),
      squall_rule_evaluations_total: () => this.#rules.evaluations(),
      squall_active_faults: () => this.#rules.active(),
      squall_faults_overflow_total: () => this.#rules.overflows(),
      squall_armed: () => this.#rules.armed(),
      squall_disarmed_reason: () => this.#rules.disarmedReasons(),
      squall_guard_trips_total: () => byLabel('reason', this.#guardTrips),
      squall_rules_reloads_total: () => byLabel('result', this.#reloads),
      squall_rules_last_reload_success: () => this.#rules.lastReloadSuccess(),
      squall_rules_last_reload_timestamp_seconds: () => this.#rules.lastReloadTime(),
      squall_rules_info: () => this.#rules.info(),
      squall_header_faults_ignored_total: () => this.#rules.ignoredHeaders(),
      squall_connections: () =>
        byLabel('kind', {
          client: gauges.client_connections,
          upstream: gauges.upstream_connections,
          tunnel: gauges.tunnels,
        }),
      squall_open_streams: () =>
        byLabel('kind', { request: gauges.request_streams, push: gauges.push_streams }),
      squall_sessions: () => single(gauges.sessions),
      squall_pending_calls: () => single(gauges.pending_calls),
      squall_table_evictions_total: () => byLabel('table', this.#evictions),
      squall_tool_names_dropped_total: () => single(this.#calls.dropped),
      squall_build_info: () => [{ labels: { version, node: process.versions.node }, value: 1 }],
    }
  }
}

function single(value: number): Sample[] {
  return [{ labels: {}, value }]
}

function byLabel(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([key, value]) => ({ labels: { [label]: key }, value }))
}
