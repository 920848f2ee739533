import type { ConnectionOptions, SecureContextOptions } from 'node:tls'
import type { Logger } from '../telemetry/log.ts'
import { TlsFiles } from './front/tls-files.ts'
import type { SidecarOptions } from './sidecar-options.ts'

export interface PortTls {
  /** Returns the options of connections to the upstream. */
  readonly connect: () => ConnectionOptions
  /** The material of the listener; undefined for plain TCP. */
  readonly listen: SecureContextOptions | undefined
}

/** The TLS files of a sidecar, and what its ports read from them. */
interface SidecarTls {
  readonly files: readonly TlsFiles[]
  /** The TLS between clients and the MCP server. */
  readonly own: PortTls
  /** The TLS of routes to dependencies, which the pod calls without TLS. */
  readonly outbound: PortTls
}

/** Reads the TLS files of a sidecar; `renewed` gets new material of the listener. */
export function tlsOf(
  { upstreamTls, upstreamServername, upstreamInsecure, outboundTls, listenTls }: SidecarOptions,
  logger: Logger,
  renewed: (material: SecureContextOptions) => void,
): SidecarTls {
  const upstream = new TlsFiles(upstreamTls, logger)
  const outbound = new TlsFiles(outboundTls ?? {}, logger)
  const listen = listenTls && new TlsFiles(listenTls, logger, renewed)
  const connect = (): ConnectionOptions => ({
    ...upstream.material,
    ...(upstreamServername === undefined ? {} : { servername: upstreamServername }),
    rejectUnauthorized: !upstreamInsecure,
  })
  return {
    files: [upstream, outbound, ...(listen ? [listen] : [])],
    own: { connect, listen: listen?.material },
    outbound: { connect: () => outbound.material, listen: undefined },
  }
}
