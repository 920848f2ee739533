/** A JSON-RPC id. `1` and `"1"` are two ids, and `0` is a legal one. */
export type JsonRpcId = string | number

/** How MCP travels over HTTP. */
export type Transport = 'streamable-http' | 'http+sse'

/** Who a client said it is. */
export interface ClientInfo {
  readonly name: string
  readonly version: string
}

/** One JSON-RPC request from the client: the unit that rules, faults and counters are about. */
export interface Call {
  readonly id: JsonRpcId
  readonly method: string
  /** Tool or prompt name, resource URI or task id, by method; undefined where the method has none. */
  readonly name: string | undefined
  /** Let go of when no fault can ask for it. */
  params: unknown
  readonly transport: Transport
  /** As the request states it; undefined when nothing in the request says so. */
  readonly protocolVersion: string | undefined
  readonly progressToken: string | number | undefined
}

/** How a call ended, seen from the client. `cancelled` is on purpose, and no error. */
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

/** Who made the outcome: the app, a fault, or Squall itself. */
export type Origin = 'upstream' | 'injected' | 'squall'
