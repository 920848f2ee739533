import type { Origin, Outcome } from '../mcp/call.ts'
import type { Doubt } from '../mcp/doubt.ts'
import type { BodyProblem } from '../mcp/json-rpc.ts'

/** What is told of one call when it has ended. */
export interface CallRecord {
  readonly method: string
  /** Tool, prompt or resource name; undefined where the method has none. */
  readonly name: string | undefined
  readonly outcome: Outcome
  readonly origin: Origin
  /** From the request's last byte to the response's; undefined for calls that are meant to stay open. */
  readonly seconds: number | undefined
  /** What the app took, from the request sent to the response whole; undefined when it was never asked. */
  readonly upstreamSeconds: number | undefined
  /** It ended well although a fault changed what it asked or brought. */
  readonly changed?: boolean
  /** The first 55 characters of a valid `traceparent` that came with the request. */
  readonly trace?: string | undefined
}

/** What is told of one exchange that carried no call. */
export interface HttpRecord {
  /** `mcp` (streams, notifications, session ends), `http`, or `upgrade`. */
  readonly class: 'mcp' | 'http' | 'upgrade'
  /** The status, or 0 when there was none. */
  readonly status: number
  readonly origin: Origin
}

/** Why a request that looked like MCP was passed on unread. */
export type UnclassifiedReason =
  'too_large' | 'encoding' | 'memory' | 'internal_error' | BodyProblem | Doubt

/** Why Squall itself answered, or turned something away. */
export type RefusalReason =
  | 'upstream_unreachable'
  | 'upstream_protocol'
  /** Found out behind such failures: the app speaks TLS, or listens on loopback alone. */
  | 'upstream_misconfigured'
  | 'overload'
  | 'ambiguous_request'
  | 'bad_request'
  | 'internal_error'
  | 'slow_client'

/** What is told of each effect of a fault. */
export interface InjectedFault {
  readonly rule: string
  readonly fault: string
  /** Undefined for calls of other methods, and for exchanges without a call. */
  readonly tool: string | undefined
  /** False when the same fault took effect on the same call before, as with each event of a stream. */
  readonly first: boolean
  /** How long it makes the call wait; undefined when it does not, or when nobody can say. */
  readonly delaySeconds: number | undefined
  /** As of a call. */
  readonly trace?: string | undefined
}

/** What became of a version of the rules. */
export type ReloadResult = 'applied' | 'rejected' | 'absent'

/** Why the guard disarmed all rules. */
export type GuardReason = 'error_rate'

/** What is counted as open right now. */
export type GaugeName =
  | 'client_connections'
  | 'upstream_connections'
  | 'request_streams'
  | 'push_streams'
  | 'tunnels'
  | 'sessions'
  | 'pending_calls'

/** The one place that is told what happened: once per call, once per exchange. */
export interface Telemetry {
  call(record: CallRecord): void
  http(record: HttpRecord): void
  unclassified(reason: UnclassifiedReason): void
  refused(reason: RefusalReason): void
  /** Squall's own share of one exchange's time, on both ways; told when the exchange is over. */
  overhead(seconds: number): void
  /** Adds to a gauge that is kept by counting up and down. */
  gauge(name: GaugeName, delta: number): void
  /** A table dropped an entry because it was full. */
  evicted(table: 'sessions' | 'pending_calls' | 'endpoints' | 'redirects'): void
  /** A fault took effect. */
  injected(record: InjectedFault): void
  /** A version of the rules was found. */
  reloaded(result: ReloadResult): void
  /** The guard disarmed all rules. */
  guardTripped(reason: GuardReason): void
}
