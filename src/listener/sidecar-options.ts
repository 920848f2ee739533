import type { UpstreamAddress } from '../upstream/address.ts'
import type { ListenAddress } from '../http/address.ts'
import type { FrontOptions } from './front/front-options.ts'
import type { TlsPaths } from './front/tls-files.ts'

/** One listener and the app behind it. */
export interface Pair {
  readonly listen: ListenAddress
  readonly upstream: UpstreamAddress
}

/** What a sidecar is made of. */
export interface SidecarOptions extends FrontOptions {
  readonly pairs: readonly Pair[]
  /** Replaces the upstream's origin in OAuth documents, where it is given. */
  readonly publicUrl?: string | undefined
  readonly listenTls: TlsPaths | undefined
  readonly upstreamTls: TlsPaths
  readonly upstreamServername: string | undefined
  readonly upstreamInsecure: boolean
  readonly readyWithoutUpstream: boolean
  readonly strict: boolean
  /** Bytes that messages in flight may hold; a share of the memory that there is unless told otherwise. */
  readonly maxMemory?: number | undefined
  readonly maxPending: number
  readonly pendingTtl: number
  readonly maxSessions: number
  readonly maxUpstreamConnections: number
  /** False opens a connection to the app for each request. */
  readonly upstreamReuse: boolean
  readonly upstreamIdle: number
  readonly connectTimeout: number
  /** False asks no upstream that fails whether it speaks TLS: a handshake is a connection of its own. */
  readonly diagnose?: boolean
  readonly drainTimeout: number
}
