import type { IndicatorCounts, Indicators } from '../../indicators/indicators.ts'
import type { AgentResult } from './agent-result.ts'
import type { SloMargin } from './slo-margin.ts'

/** Identifies the format of the result. Incompatible changes increase the number. */
export const LOAD_SCHEMA = 'squall.load/1'

/**
 * The kind of an error: `http` a status of 400 or more, `rpc` a JSON-RPC error, `tool` a result
 * with `isError`, `timeout`, `reset` a broken connection, `refused` a refused connection,
 * `incomplete` a response that ended early, `malformed` a response that is not MCP, `breaker` a
 * call that was not sent.
 */
export type ErrorKind =
  'http' | 'rpc' | 'tool' | 'timeout' | 'reset' | 'refused' | 'incomplete' | 'malformed' | 'breaker'

export const ORIGINS = ['injected', 'real', 'unattributed', 'squall', 'client'] as const

/**
 * The origin of an error: `injected` the response carries the marker of a fault; `real` the
 * response carries none; `unattributed` no response could carry a marker; `squall` the sidecar
 * failed; `client` the load did not send the call.
 */
export type Origin = (typeof ORIGINS)[number]

export function noErrors(): Record<Origin, number> {
  return { injected: 0, real: 0, unattributed: 0, squall: 0, client: 0 }
}

/** Latencies in log-linear buckets of microseconds, with a relative error of at most 1 %. */
export interface HistogramData {
  readonly unit: 'us'
  /** The buckets per doubling of the value. */
  readonly perOctave: 128
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
  /** Pairs of the distance to the previous bucket and the number of values. */
  readonly buckets: readonly number[]
}

/** The quantiles in milliseconds; null for an empty histogram. */
export type LatencySummary = Readonly<
  Record<'mean' | 'min' | 'p50' | 'p90' | 'p95' | 'p99' | 'p999' | 'max', number | null>
>

export interface Latency {
  /** In milliseconds; in the open model from the intended send time. */
  readonly summary: LatencySummary
  readonly histogram: HistogramData
}

export interface ErrorCount {
  readonly kind: ErrorKind
  readonly origin: Origin
  /** The status of an `http` error, or the code of an `rpc` error; absent for others. */
  readonly code?: number
  readonly count: number
  /** A few of the errors of a tool, with different messages, newest first. */
  readonly samples?: readonly ErrorSample[]
}

export interface ErrorSample {
  /** ISO 8601. */
  readonly at: string
  /** One line, without secrets. */
  readonly message: string
  /** The fault that injected the error: `rule/fault`. */
  readonly by?: string
  /** The id of the trace of the call. */
  readonly trace?: string
}

export interface ToolResult {
  readonly tool: string
  readonly calls: number
  /** Responded, correct and in time. */
  readonly ok: number
  readonly retries: number
  readonly responded: number
  readonly schemaOk: number
  readonly usable: number
  readonly correct: number
  readonly inTime: number
  /** Calls cut at the end of the run, counted nowhere else; absent without any. */
  readonly abandoned?: number
  /** The errors of failed calls, after their retries. */
  readonly errors: readonly ErrorCount[]
  readonly latency: Latency
}

/** The injections of one fault of one rule, counted by marker. */
export interface FaultSeen {
  readonly rule: string
  readonly fault: string
  /** Attempts whose response carried the marker. */
  readonly seen: number
  /** The attempts among them that ended in an error. */
  readonly errors: number
  /** The attempts among them with a wrong result and no error. */
  readonly wrong: number
  readonly tools: Readonly<Record<string, number>>
  readonly latency: Latency
}

/** The counts of one interval. A call belongs to the interval in which it ended. */
export interface TimePoint {
  /** Start of the interval in milliseconds after the start of the run. */
  readonly at: number
  readonly calls: number
  readonly ok: number
  readonly retries: number
  readonly errors: Readonly<Record<Origin, number>>
  /** Arrivals that could not be started. */
  readonly dropped: number
  /** Calls in flight at the end of the interval. */
  readonly inFlight: number
  /** Milliseconds; null when no call ended. */
  readonly p50: number | null
  readonly p99: number | null
  readonly histogram: HistogramData
}

export interface Timeline {
  readonly intervalMs: number
  readonly points: readonly TimePoint[]
}

/** Arrivals of the open model, in calls; in the closed model `planned` equals `started`. */
export interface Arrivals {
  readonly planned: number
  readonly started: number
  /** Not started because too many calls were in flight. */
  readonly dropped: number
  /** Started more than 50 ms late; the latency counts from the planned time. */
  readonly late: number
  /** Cut at the end of the run, counted nowhere else. */
  readonly abandoned: number
  /** Not sent because the task would have missed its deadline. */
  readonly skipped: number
}

/** The result of a gate. */
export interface SloVerdict {
  /** The text as written, such as `p99<2s`. */
  readonly gate: string
  readonly limit: number
  /** In the unit of the limit; null without a measurement. */
  readonly measured: number | null
  readonly ok: boolean
  /** The distance from the limit; null without a measurement, and absent in older results. */
  readonly margin?: SloMargin | null
}

/** The part of a load that one of several machines runs. */
export interface Shard {
  readonly index: number
  readonly count: number
}

export interface RunInfo {
  /** Without user, password and query. */
  readonly target: string
  readonly server: string
  readonly protocolVersion: string
  readonly client: ClientKind
  /** ISO 8601. */
  readonly startedAt: string
  readonly durationMs: number
  readonly seed: number
  readonly model: 'open' | 'closed'
  /** False when the run was ended early. */
  readonly complete: boolean
  readonly shard?: Shard
  /** The number of merged results; absent for a single run. */
  readonly mergedFrom?: number
  /** The tools that were not called; absent without any. */
  readonly leftOut?: readonly LeftOutTool[]
  /** The number of faults that the sidecar dropped between two polls. */
  readonly missedFaults?: number
  /** The options, without secrets. */
  readonly options: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

/** A tool that was not called because it was not named. */
export interface LeftOutTool {
  readonly tool: string
  /** `no_hint`: the tool has no `readOnlyHint`, and consent was not given. */
  readonly why: 'destructive' | 'not_read_only' | 'no_hint'
}

export const CLIENT_KINDS = ['lean', 'sdk-v1', 'sdk-v2'] as const

export type ClientKind = (typeof CLIENT_KINDS)[number]

export interface HeldStreams {
  readonly asked: number
  readonly opened: number
  readonly refused: number
  /** Ended by the server during the run. */
  readonly lost: number
}

export interface LoadResult {
  readonly schema: typeof LOAD_SCHEMA
  readonly squall: string
  readonly run: RunInfo
  readonly counts: IndicatorCounts
  readonly indicators: Indicators
  readonly arrivals: Arrivals
  readonly errors: readonly ErrorCount[]
  readonly latency: Latency
  readonly tools: readonly ToolResult[]
  readonly faults: readonly FaultSeen[]
  readonly timeline: Timeline
  readonly held: HeldStreams
  /** Absent without sidecars that group calls into tasks. */
  readonly agents?: AgentResult
  readonly slo: readonly SloVerdict[]
}
