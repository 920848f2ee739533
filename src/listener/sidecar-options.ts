import type { UpstreamAddress } from '../upstream/address.ts'
import type { ListenAddress } from '../http/address.ts'
import type { FrontOptions } from './front/front-options.ts'
import type { OutboundRoute } from './outbound/target.ts'
import type { ServerCommand } from './stdio/server-process.ts'
import type { TlsPaths } from './front/tls-files.ts'
import type { TableBounds } from './port-sessions.ts'

/** A listener and its upstream. */
export interface Pair {
  readonly listen: ListenAddress
  readonly upstream: UpstreamAddress
  /** True for a route to a dependency of the pod, which gets requests for its own name. */
  readonly isOutbound?: boolean
  /** True where clients address the dependency itself, so that `Host` stays. */
  readonly keepsHost?: boolean
}

/** Configures a sidecar. */
export interface SidecarOptions extends FrontOptions, TableBounds {
  readonly pairs: readonly Pair[]
  /** The listeners for TCP connections to dependencies. */
  readonly outbound?: readonly OutboundRoute[]
  /** The CA certificates for dependencies, instead of the public ones. */
  readonly outboundTls?: TlsPaths | undefined
  /** The server that is run for the client at the standard streams. */
  readonly stdio?: ServerCommand | undefined
  /** Replaces the upstream's origin in OAuth documents. */
  readonly publicUrl?: string | undefined
  readonly listenTls: TlsPaths | undefined
  readonly upstreamTls: TlsPaths
  readonly upstreamServername: string | undefined
  readonly upstreamInsecure: boolean
  readonly readyWithoutUpstream: boolean
  readonly strict: boolean
  /** True when errors with markers of another Squall do not count as real. */
  readonly trustMarkers?: boolean
  /** The bound on bytes of in-flight messages; a share of the available memory by default. */
  readonly maxMemory?: number | undefined
  readonly maxUpstreamConnections: number
  /** False opens a connection to the upstream for each request. */
  readonly upstreamReuse: boolean
  readonly upstreamIdle: number
  readonly connectTimeout: number
  /** False disables the TLS probe of a failing upstream, which opens an extra connection. */
  readonly diagnose?: boolean
  readonly drainTimeout: number
}
