import type { Call, ClientInfo } from '../../mcp/call.ts'
import type { HeaderLines } from '../../http/headers.ts'

/** The line of the request that a call or an exchange came by. */
export interface HttpFacts {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** With the query, where it is known. */
  readonly target?: string | undefined
}

/** A dependency to which Squall carries traffic of the pod. */
export interface Destination {
  /** Undefined for an address that no target names. */
  readonly host: string | undefined
  readonly port: number
  /** Undefined until it is known. */
  readonly address?: string | undefined
  /** The server name in the TLS handshake. */
  readonly sni?: string | undefined
}

/** The facts of an exchange that rules can match, with or without a call. */
export interface ExchangeFacts {
  readonly headers: HeaderLines
  readonly session: string | undefined
  readonly client: ClientInfo | undefined
  readonly http: HttpFacts
  /** The tools of the calls that the exchange carries. */
  readonly tools?: readonly string[] | undefined
  /** The destination of outgoing traffic. */
  readonly outbound?: Destination | undefined
  /** No fault may be injected: it carries, or may carry, a call of a tool that is denied. */
  readonly untouchable?: boolean | undefined
}

/** The facts of a call that rules can match. */
export interface CallFacts extends ExchangeFacts {
  readonly call: Call
  /** The version negotiated by the session, for calls that state no protocol version themselves. */
  readonly protocolVersion?: string | undefined
}

/** A call, or an exchange without one. */
export type Facts = ExchangeFacts & {
  readonly call?: Call | undefined
  readonly protocolVersion?: string | undefined
  /** The response's status, once there is one. */
  readonly status?: number | undefined
}
