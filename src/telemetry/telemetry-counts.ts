import { CallCounts } from './call-counts.ts'
import { FaultCounts } from './fault-counts.ts'
import { HttpCounts } from './http-counts.ts'
import type { MetricsDetail } from './metric-table.ts'
import { Histogram } from './series.ts'
import type {
  CallRecord,
  GaugeName,
  GuardReason,
  HttpRecord,
  InjectedFault,
  RejectionReason,
  ReloadResult,
  Telemetry,
  UnclassifiedReason,
} from './telemetry.ts'
import {
  NO_EVICTIONS,
  NO_GAUGES,
  NO_GUARD_TRIPS,
  NO_REJECTIONS,
  NO_RELOADS,
  NO_UNCLASSIFIED,
} from './zero-counts.ts'

/** Counts what a sidecar records. */
export class TelemetryCounts implements Telemetry {
  protected readonly calls: CallCounts
  readonly #http = new HttpCounts()
  readonly #overhead: Histogram
  readonly #unclassified = { ...NO_UNCLASSIFIED }
  readonly #rejected = { ...NO_REJECTIONS }
  readonly #gauges = { ...NO_GAUGES }
  readonly #faults: FaultCounts
  readonly #reloads = { ...NO_RELOADS }
  readonly #guardTrips = { ...NO_GUARD_TRIPS }
  readonly #evictions = { ...NO_EVICTIONS }

  constructor(maxTools = 200, detail?: MetricsDetail) {
    this.calls = new CallCounts(maxTools, detail)
    this.#faults = new FaultCounts((name) => this.calls.labelOf(name), detail)
    this.#overhead = new Histogram('squall_overhead_seconds', {}, detail)
  }

  call(record: CallRecord): void {
    this.calls.add(record)
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

  overhead(seconds: number): void {
    this.#overhead.observe(seconds)
  }

  gauge(name: GaugeName, delta: number): void {
    this.#gauges[name] += delta
  }

  evicted(table: keyof typeof NO_EVICTIONS): void {
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

  /** Maps each metric of what was recorded to what it shows. */
  protected recorded() {
    const gauges = this.#gauges
    return {
      ...this.calls.sources(),
      ...this.#faults.sources(),
      squall_overhead_seconds: [this.#overhead],
      squall_http_requests_total: [this.#http.series],
      squall_unclassified_total: this.#unclassified,
      squall_rejected_total: this.#rejected,
      squall_guard_trips_total: this.#guardTrips,
      squall_rules_reloads_total: this.#reloads,
      squall_table_evictions_total: this.#evictions,
      squall_connections: {
        client: gauges.client_connections,
        upstream: gauges.upstream_connections,
        tunnel: gauges.tunnels,
      },
      squall_open_streams: { request: gauges.request_streams, push: gauges.push_streams },
      squall_sessions: gauges.sessions,
      squall_in_flight_requests: gauges.in_flight_calls,
    } as const
  }
}
