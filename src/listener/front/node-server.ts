import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http'
import type { SecureContextOptions } from 'node:tls'
import type { FrontOptions } from './front-options.ts'

const CHECK_INTERVAL = 1_000
const TCP_KEEP_ALIVE = 60_000

/** Creates the server that listens, and that parses the connections of the standard path. */
export function createNodeServer(
  options: FrontOptions,
  tls: SecureContextOptions | undefined,
): Server {
  const { maxHeaderSize, headerTimeout, clientKeepalive, maxConnections, overloadReserve } = options
  const server: ServerOptions = {
    maxHeaderSize: maxHeaderSize,
    headersTimeout: headerTimeout,
    requestTimeout: 0,
    keepAliveTimeout: clientKeepalive,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL, headerTimeout),
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE,
    noDelay: true,
    insecureHTTPParser: false,
    // The upstream decides about a request without Host.
    requireHostHeader: false,
  }
  const created =
    tls === undefined ? createHttpServer(server) : createTlsServer(server, headerTimeout, tls)
  created.maxConnections = maxConnections + overloadReserve
  created.maxHeadersCount = 0
  return created
}

/** Creates a TLS server; loads TLS only on use, which saves a megabyte in most pods. */
function createTlsServer(
  settings: ServerOptions,
  handshakeTimeout: number,
  tls: SecureContextOptions,
): Server {
  const { createServer } = process.getBuiltinModule('node:https')
  return createServer({ ...settings, handshakeTimeout, ...tls })
}
