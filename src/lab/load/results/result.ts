import type { IndicatorCounts } from '../../indicators/counts.ts'
import type { Indicators } from '../../indicators/indicators.ts'

/** The form of the result. A change that a reader must know of changes its number. */
export const LOAD_SCHEMA = 'squall.load/1'

/** The kinds of errors. */
const ERROR_KINDS = [
  'http',
  'rpc',
  'tool',
  'timeout',
  'reset',
  'refused',
  'incomplete',
  'malformed',
  'breaker',
] as const

/**
 * The kind of an error: `http` a status of 400 or more, `rpc` a JSON-RPC error, `tool` a result with
 * `isError`, `timeout`, `reset` a broken connection, `refused` a refused connection, `incomplete` a
 * response that ended early, `malformed` a response that is not MCP, `breaker` a call that was not sent.
 */
export type ErrorKind = (typeof ERROR_KINDS)[number]

/** The origins of errors. */
export const ORIGINS = ['injected', 'real', 'unattributed', 'squall', 'client'] as const

/**
 * The origin of an error: `injected` the response carries the marker of a fault; `real` the response
 * carries none; `unattributed` there was no response that could carry a marker; `squall` the sidecar's
 * own; `client` the load's own, which did not send the call.
 */
export type Origin = (typeof ORIGINS)[number]

/** Latencies in buckets: log-linear in microseconds, off by at most 1 %. */
export interface HistogramData {
  readonly unit: 'us'
  /** Buckets for each doubling of the value. */
  readonly perOctave: 128
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
  /** Pairs: how many buckets further, and how many values in it. */
  readonly buckets: readonly number[]
}

/** The usual figures of a histogram, in milliseconds; null when it is empty. */
export interface LatencySummary {
  readonly mean: number | null
  readonly min: number | null
  readonly p50: number | null
  readonly p90: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly p999: number | null
  readonly max: number | null
}

/** Figures together with what they are read from. */
export interface Latency {
  /** From the intended send time where calls arrive at a rate; in milliseconds. */
  readonly summary: LatencySummary
  readonly histogram: HistogramData
}

/** Errors of one kind and one origin. */
export interface ErrorCount {
  readonly kind: ErrorKind
  readonly origin: Origin
  /** The status of an `http` error, or the code of an `rpc` error; absent for others. */
  readonly code?: number
  readonly count: number
}

/** The results of one tool's calls. */
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
  /** Cut at the end of the run before they ended: in none of the other counts. Absent for none. */
  readonly abandoned?: number
  /** The errors of failed calls, after their retries. */
  readonly errors: readonly ErrorCount[]
  readonly latency: Latency
}

/** The injections of one fault of one rule, by the marker. */
export interface FaultSeen {
  readonly rule: string
  readonly fault: string
  /** Attempts whose response carried the mark. */
  readonly seen: number
  /** The attempts among them that ended in an error. */
  readonly errors: number
  /** The attempts among them with a wrong result and no error. */
  readonly wrong: number
  /** The attempts by tool. */
  readonly tools: Readonly<Record<string, number>>
  readonly latency: Latency
}

/** The counts of one interval. A call belongs to the interval in which it ended. */
export interface TimePoint {
  /** Start of the interval, in milliseconds after the run's. */
  readonly at: number
  readonly calls: number
  readonly ok: number
  readonly retries: number
  readonly errors: Readonly<Record<Origin, number>>
  /** Arrivals that could not be started. */
  readonly dropped: number
  /** Calls under way at the end of the interval. */
  readonly inFlight: number
  /** Milliseconds; null when no call ended. */
  readonly p50: number | null
  readonly p99: number | null
  readonly histogram: HistogramData
}

/** The counts over time. */
export interface Timeline {
  readonly intervalMs: number
  readonly points: readonly TimePoint[]
}

/** Arrivals of the open model, in calls; in the closed model `planned` equals `started`. */
export interface Arrivals {
  readonly planned: number
  readonly started: number
  /** Not started because as many calls as allowed were under way. */
  readonly dropped: number
  /** Started more than 50 ms after their time; their latency counts from that time all the same. */
  readonly late: number
  /** Cut at the end of the run before they ended: counted nowhere else. */
  readonly abandoned: number
  /** Not sent because the deadline of the task could not be kept. */
  readonly skipped: number
}

/** A gate and what came of it. */
export interface SloVerdict {
  /** As it was written: `p99<2s`. */
  readonly gate: string
  readonly limit: number
  /** In the unit of the limit: milliseconds, or a fraction; null when there was nothing to measure. */
  readonly measured: number | null
  readonly ok: boolean
}

/** A part of a load that runs in several places. */
export interface Shard {
  readonly index: number
  readonly count: number
}

/** The target and the options of a run. */
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
  /** False when it was ended early. */
  readonly complete: boolean
  readonly shard?: Shard
  /** The number of merged results; absent for a single run. */
  readonly mergedFrom?: number
  /** Tools of the server that were not called; absent where there are none. */
  readonly leftOut?: readonly LeftOutTool[]
  /** Faults of the sidecar that was asked, which came and went between two looks. */
  readonly missedFaults?: number
  /** The options, without secrets. */
  readonly options: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

/** A tool that was not called, as nobody had named it. */
export interface LeftOutTool {
  readonly tool: string
  /** `no_hint`: it does not say whether it only reads, and consent was not given. */
  readonly why: 'destructive' | 'not_read_only' | 'no_hint'
}

/** Which client made the calls. */
export type ClientKind = 'lean' | 'sdk-v1' | 'sdk-v2'

/** The names of the clients. */
export const CLIENT_KINDS = ['lean', 'sdk-v1', 'sdk-v2'] as const satisfies readonly ClientKind[]

/** Streams that were held open. */
export interface HeldStreams {
  readonly asked: number
  readonly opened: number
  readonly refused: number
  /** Ended by the other side while the run went on. */
  readonly lost: number
}

/** The result of a load. */
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
  readonly slo: readonly SloVerdict[]
}
