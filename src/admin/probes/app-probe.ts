/** Describes an HTTP request to the app. */
export interface HttpAction {
  readonly kind: 'http'
  readonly tls: boolean
  readonly host: string
  readonly port: number
  /** Path and query, as they go over the wire. */
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** A connection that is only made. */
export interface TcpAction {
  readonly kind: 'tcp'
  readonly host: string
  readonly port: number
}

/** A call of the gRPC health service. */
export interface GrpcAction {
  readonly kind: 'grpc'
  readonly host: string
  readonly port: number
  readonly service: string
}

/** A probe or a hook as it stood in the pod before the admin port stood in for the app. */
export interface AppProbe {
  /** `container/readyz`, as in its path. */
  readonly key: string
  /** The kubelet only checks whether a hook got any response. */
  readonly isHook: boolean
  readonly timeoutMs: number
  readonly action: HttpAction | TcpAction | GrpcAction
}

/** Everything that the admin port may ask the app. */
export type AppProbes = readonly AppProbe[]

/** The result of a check. */
export interface Finding {
  readonly ok: boolean
  /** The status of the app's response; undefined without an HTTP response. */
  readonly status?: number
  /** One line for people. */
  readonly why: string
}

/** The context of every check. */
export interface CheckContext {
  /** Ends the check: its time is over, or nobody waits any more. */
  readonly signal: AbortSignal
  /** The name under which the check is sent. */
  readonly userAgent: string
}
