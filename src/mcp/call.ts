/** A JSON-RPC id. `1` and `"1"` are different ids, and `0` is valid. */
export type JsonRpcId = string | number

/** The transports of MCP. */
export const TRANSPORTS = ['streamable-http', 'http+sse', 'stdio'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** Returns true where the responses to all calls of a session come on one stream. */
export function sharesStream(transport: Transport | undefined): boolean {
  return transport === 'http+sse' || transport === 'stdio'
}

/** The name and version that a client states. */
export interface ClientInfo {
  readonly name: string
  readonly version: string
}

/**
 * One JSON-RPC request from the client: the unit of rules, faults and counters. With `kind` or
 * `from` it describes another message on which rules can act; such a message is not
 * counted as a call.
 */
export interface Call {
  /** Undefined for a notification. */
  readonly id: JsonRpcId | undefined
  readonly method: string
  /** Tool or prompt name, resource URI or task id, by method; undefined where there is none. */
  readonly name: string | undefined
  /**
   * The tool of the call that began the task, or during which the server sent the request of the
   * response.
   */
  readonly tool?: string | undefined
  /** The hash by which repetitions are recognized; with `tool`, that of the call that began the task. */
  hash?: number | undefined
  /** Released when no fault can read it any more. */
  params: unknown
  readonly transport: Transport
  /** The version that the request states, if any. */
  readonly protocolVersion: string | undefined
  readonly progressToken: string | number | undefined
  /** The first 55 characters of a valid `traceparent` in `_meta`. */
  readonly trace?: string | undefined
  /** The kind of a message other than a request. A response has the method of its request. */
  readonly kind?: 'notification' | 'response' | undefined
  /** The sender of a message of the server. */
  readonly from?: 'server' | undefined
}

/** Returns the tool of a call, or of the call to which a message of the server belongs. */
export function toolOf(
  call: (Pick<Call, 'method' | 'name'> & Partial<Pick<Call, 'tool' | 'from'>>) | undefined,
): string | undefined {
  if (call?.method === 'tools/call') return call.name ?? ''
  if (call?.tool !== undefined) return call.tool
  return call?.from === 'server' && call.method !== RESOURCE_UPDATED ? call.name : undefined
}

/** Returns true for a message other than a request of the client. */
export function isOther(call: Call | undefined): boolean {
  return call !== undefined && (call.kind !== undefined || call.from !== undefined)
}

/** The notification of the server that names a resource. */
export const RESOURCE_UPDATED = 'notifications/resources/updated'

/** A request of the client, which has an id. */
export type RequestCall = Call & { readonly id: JsonRpcId }

/** The result of a call as its client sees it. `cancelled` is intentional, and not an error. */
export const OUTCOMES = [
  'ok',
  'tool_error',
  'rpc_error',
  'http_error',
  'reset',
  'timeout',
  'cancelled',
  'incomplete',
  'abandoned',
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The cause of the outcome: the upstream, a fault, Squall itself, or a fault of another Squall. */
export const ORIGINS = ['real', 'injected', 'squall', 'injected_elsewhere'] as const
export type Origin = (typeof ORIGINS)[number]

/** Returns true for an outcome that a fault caused, in this Squall or in another one. */
export function isInjected(origin: Origin): boolean {
  return origin === 'injected' || origin === 'injected_elsewhere'
}
