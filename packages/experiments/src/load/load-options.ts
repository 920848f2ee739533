import type { Expectation } from './expectation.ts'
import type { SidecarAdmin } from '#admin-api'
import type { Baseline } from './baseline.ts'
import type { ClientKind, Shard } from './results/result.ts'
import type { ReadTasks } from './sidecar-tasks.ts'
import type { SloGate } from './results/slo.ts'

/** A call as a calls file describes it. */
export interface CallSpec {
  readonly tool: string
  /** Generated from the schema of the tool when absent. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** The relative frequency of the call. */
  readonly weight: number
  readonly expect: readonly Expectation[]
}

/** Configures the target and the client. */
export interface LoadTarget {
  readonly url: URL
  readonly client: ClientKind
  /** Sent with every request. May contain secrets: never shown, never in a result. */
  readonly headers: Readonly<Record<string, string>>
  /** Limits the connections of the lean client; waiting for a connection counts as latency. */
  readonly connections?: number
  /** With the lean client, polled for the faults of responses without a marker. */
  readonly sidecars?: readonly SidecarAdmin[]
  /** Reads verdicts about agents; by default from `sidecars`. */
  readonly readTasks?: ReadTasks
  /** True when the target calls the server behind the sidecars itself. */
  readonly indirect?: boolean
  /** The newest protocol version to offer; by default the newest known version. */
  readonly protocolVersion?: string
}

export interface LoadWork {
  /**
   * Tools to call with generated arguments; the read-only tools when `tools` and `calls` are empty.
   */
  readonly tools: readonly string[]
  readonly calls: readonly CallSpec[]
  readonly fanOut: number
  /** Runs the calls of a task in sequence. */
  readonly sequential: boolean
}

export interface LoadPace {
  readonly clients: number
  /** The arrival rate in calls per second; without a rate each client calls in a loop. */
  readonly rate?: number | undefined
  /** The time over which the load grows. */
  readonly rampMs: number
  readonly durationMs?: number | undefined
  /** The time that in-flight calls get to end after the last task began. */
  readonly gracefulStopMs?: number
  readonly tasks?: number | undefined
  /** Limits the in-flight calls in the open model. */
  readonly maxInFlight: number
  /** The number of streams held open besides the calls. */
  readonly hold: number
}

export interface LoadResilience {
  readonly retries: number
  /** Limits the average number of retries per call. */
  readonly retryBudget?: number
  readonly timeoutMs: number
  /** The error rate at which the circuit breaker of a tool opens. */
  readonly breaker?: number
  /** The number of optional calls at the end of a task. */
  readonly degrade: number
  readonly deadlineMs?: number
  /** Skips calls that cannot meet the deadline. */
  readonly skipLate: boolean
}

/** Configures how results are checked. */
export interface LoadChecks {
  readonly expectations: readonly Expectation[]
  readonly baseline?: Baseline
  readonly slo: readonly SloGate[]
}

export interface LoadOptions {
  readonly target: LoadTarget
  readonly work: LoadWork
  readonly pace: LoadPace
  readonly resilience: LoadResilience
  readonly checks: LoadChecks
  readonly seed: number
  readonly shard?: Shard
  readonly version: string
}

export const LOAD_DEFAULTS = {
  work: { tools: [], calls: [], fanOut: 1, sequential: false },
  pace: { clients: 10, rampMs: 0, maxInFlight: 10_000, hold: 0 },
  resilience: { retries: 0, timeoutMs: 60_000, degrade: 0, skipLate: false },
  checks: { expectations: [], slo: [] },
  seed: 1,
} as const satisfies Omit<LoadOptions, 'target' | 'version'>

/** Returns the part of a load that one shard runs. */
export function shardOf(pace: LoadPace, shard: Shard | undefined): LoadPace {
  if (shard === undefined) return pace
  const { index, count } = shard
  const part = (whole: number): number =>
    Math.floor(whole / count) + (index < whole % count ? 1 : 0)
  return {
    ...pace,
    clients: Math.max(1, part(pace.clients)),
    maxInFlight: Math.max(1, part(pace.maxInFlight)),
    hold: part(pace.hold),
    ...(pace.rate !== undefined && { rate: pace.rate / count }),
    ...(pace.tasks !== undefined && { tasks: part(pace.tasks) }),
  }
}
