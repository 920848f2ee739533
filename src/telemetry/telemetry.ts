import type { Origin, Outcome } from '../mcp/call.ts'
import type {
  NO_EVICTIONS,
  NO_GAUGES,
  NO_GUARD_TRIPS,
  NO_REJECTIONS,
  NO_RELOADS,
  NO_UNCLASSIFIED,
} from './zero-counts.ts'

/** Records a call that has ended. */
export interface CallRecord {
  readonly method: string
  /** Tool, prompt or resource name; undefined where the method has none. */
  readonly name: string | undefined
  /** The tool that began the task, for a request about a task. */
  readonly tool?: string | undefined
  readonly outcome: Outcome
  readonly origin: Origin
  /**
   * From the request's last byte to the response's; undefined for calls that are meant to stay
   * open.
   */
  readonly seconds: number | undefined
  /**
   * From the request sent to the upstream to its whole response; undefined when the upstream did
   * not get the call.
   */
  readonly upstreamSeconds: number | undefined
  /** The size of the message with the result of a tool, where seen apart from other messages. */
  readonly responseBytes?: number | undefined
  /** True when the call ended well, but a fault changed its request or response. */
  readonly changed?: boolean
  /** The first 55 characters of a valid `traceparent` that came with the request. */
  readonly trace?: string | undefined
  /** The `traceparent` of the span of the call; undefined for a call that was not exported. */
  span?: string | undefined
}

/** Records an exchange that carried no call. */
export interface HttpRecord {
  /** `mcp` (streams, notifications, session ends), `http`, or `upgrade`. */
  readonly class: 'mcp' | 'http' | 'upgrade'
  /** The HTTP status, or 0 without a response. */
  readonly status: number
  readonly origin: Origin
}

/** The cause for passing on a request unread that looked like MCP. */
export type UnclassifiedReason = keyof typeof NO_UNCLASSIFIED

/** The cause of an error response by Squall itself, or of a dropped connection. */
export type RejectionReason = keyof typeof NO_REJECTIONS

/** Names a fault that took effect. */
export interface FaultEffect {
  readonly rule: string
  readonly fault: string
  /** The effect, if the fault states more than its name. */
  readonly effect?: string | undefined
  /** The delay of the call, if any. */
  readonly delayMs?: number | undefined
  /** The time of the effect, on the monotonic clock; undefined where the effect ended the call. */
  readonly at?: number
}

/** Records one effect of a fault. */
export interface InjectedFault extends FaultEffect {
  /** Undefined for calls of other methods, and for exchanges without a call. */
  readonly tool: string | undefined
  /** False when the fault took effect on the call before, as with each event of a stream. */
  readonly first: boolean
  /** The delay of the call; undefined when there is none, or its length is unknown. */
  readonly delaySeconds: number | undefined
  readonly trace?: string | undefined
}

/** The result of reading a version of the rules. */
export type ReloadResult = keyof typeof NO_RELOADS

/** The cause for which the guard, or a condition of `--rollback-on`, disarmed all rules. */
export type GuardReason = keyof typeof NO_GUARD_TRIPS

/** The gauges that are counted up and down. */
export type GaugeName = keyof typeof NO_GAUGES

/** Receives each call once, each exchange without a call once, and other events of a sidecar. */
export interface Telemetry {
  call(record: CallRecord): void
  http(record: HttpRecord): void
  unclassified(reason: UnclassifiedReason): void
  rejected(reason: RejectionReason): void
  /** Records the time that Squall itself spent on an exchange, after its end. */
  overhead(seconds: number): void
  gauge(name: GaugeName, delta: number): void
  /** Records that a full table dropped an entry. */
  evicted(table: keyof typeof NO_EVICTIONS): void
  injected(record: InjectedFault): void
  reloaded(result: ReloadResult): void
  guardTripped(reason: GuardReason): void
}

/** Returns telemetry in which some methods are replaced. */
export function telemetryWith(inner: Telemetry, own: Partial<Telemetry>): Telemetry {
  return {
    call: (record) => inner.call(record),
    http: (record) => inner.http(record),
    unclassified: (reason) => inner.unclassified(reason),
    rejected: (reason) => inner.rejected(reason),
    overhead: (seconds) => inner.overhead(seconds),
    gauge: (name, delta) => inner.gauge(name, delta),
    evicted: (table) => inner.evicted(table),
    injected: (record) => inner.injected(record),
    reloaded: (result) => inner.reloaded(result),
    guardTripped: (reason) => inner.guardTripped(reason),
    ...own,
  }
}

/** Supplies the state of the memory budget to scrapes. */
export interface MemorySource {
  readonly limit: number
  readonly held: number
  readonly cacheBudget: { readonly bytes: number }
  readonly pressure: Readonly<Record<string, number>>
}
