import type { Expectation } from './expectation.ts'
import type { SidecarAdmin } from '../../admin/api-client.ts'
import type { Baseline } from './baseline.ts'
import type { ClientKind, Shard } from './results/result.ts'
import type { SloGate } from './results/slo.ts'

/** A call as a file of calls gives it. */
export interface CallSpec {
  readonly tool: string
  /** Made from the schema of the tool when not given. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** The weight with which it is chosen. */
  readonly weight: number
  readonly expect: readonly Expectation[]
}

/** Where the load goes, and as whom. */
export interface LoadTarget {
  readonly url: URL
  readonly client: ClientKind
  /** Sent with every request. May hold secrets: never shown, never in a result. */
  readonly headers: Readonly<Record<string, string>>
  /** Connections of the lean client at a time: calls beyond it wait for one, which counts. */
  readonly connections?: number
  /** Asked for the faults of responses that carry no mark; of the lean client alone. */
  readonly sidecars?: readonly SidecarAdmin[]
  /** The newest protocol version to speak; the newest known one when not given. */
  readonly protocolVersion?: string
}

/** The calls of each task. */
export interface LoadWork {
  /** Names of tools with arguments of the load's own making; those that only read when both are empty. */
  readonly tools: readonly string[]
  readonly calls: readonly CallSpec[]
  readonly fanOut: number
  /** Calls of a task one after another instead of at once. */
  readonly sequential: boolean
}

/** The amount of load and its timing. */
export interface LoadPace {
  readonly clients: number
  /** Calls per second, as they arrive; without it each client begins when it is done. */
  readonly rate?: number
  readonly rampMs: number
  readonly durationMs?: number
  /** The time for which calls in flight may end after the last task began; then they are cut. */
  readonly gracefulStopMs?: number
  readonly tasks?: number
  /** Calls under way at a time, in the open model. */
  readonly maxInFlight: number
  /** Streams held open beside the calls. */
  readonly hold: number
}

/** The client's handling of failures; none by default. */
export interface LoadResilience {
  readonly retries: number
  /** Retries for each call at most, on the average. */
  readonly retryBudget?: number
  readonly timeoutMs: number
  /** Share of failures at which calls of a tool are no longer sent. */
  readonly breaker?: number
  /** The last calls of a task that it can do without. */
  readonly degrade: number
  readonly deadlineMs?: number
  /** Calls that cannot keep the deadline are not sent. */
  readonly skipLate: boolean
}

/** Configures how results are judged. */
export interface LoadChecks {
  readonly expectations: readonly Expectation[]
  readonly baseline?: Baseline
  readonly slo: readonly SloGate[]
}

/** Everything that a load needs to know. */
export interface LoadOptions {
  readonly target: LoadTarget
  readonly work: LoadWork
  readonly pace: LoadPace
  readonly resilience: LoadResilience
  readonly checks: LoadChecks
  readonly seed: number
  readonly shard?: Shard
  /** The version of the program, for the result. */
  readonly version: string
}

/** The default options. */
export const LOAD_DEFAULTS = {
  work: { tools: [], calls: [], fanOut: 1, sequential: false },
  pace: { clients: 10, rampMs: 0, maxInFlight: 10_000, hold: 0 },
  resilience: { retries: 0, timeoutMs: 60_000, degrade: 0, skipLate: false },
  checks: { expectations: [], slo: [] },
  seed: 1,
} as const satisfies Omit<LoadOptions, 'target' | 'version'>
