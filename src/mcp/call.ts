/** A JSON-RPC id. `1` and `"1"` are different ids, and `0` is valid. */
export type JsonRpcId = string | number

/** A transport of MCP over HTTP. */
export type Transport = 'streamable-http' | 'http+sse'

/** The name and version that a client states. */
export interface ClientInfo {
  readonly name: string
  readonly version: string
}

/** One JSON-RPC request from the client: the unit of rules, faults and counters. */
export interface Call {
  readonly id: JsonRpcId
  readonly method: string
  /** Tool or prompt name, resource URI or task id, by method; undefined where the method has none. */
  readonly name: string | undefined
  /** Released when no fault can read it any more. */
  params: unknown
  readonly transport: Transport
  /** The version that the request states, if any. */
  readonly protocolVersion: string | undefined
  readonly progressToken: string | number | undefined
}

/** The result of a call as its client sees it. `cancelled` is intentional, and not an error. */
export type Outcome =
  | 'ok'
  | 'tool_error'
  | 'rpc_error'
  | 'http_error'
  | 'reset'
  | 'timeout'
  | 'cancelled'
  | 'incomplete'
  | 'abandoned'

/** The cause of the outcome: the app, a fault, or Squall itself. */
export type Origin = 'upstream' | 'injected' | 'squall'
