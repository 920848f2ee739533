import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http'
import type { SecureContextOptions } from 'node:tls'
import type { FrontOptions } from './front-options.ts'

const CHECK_INTERVAL = 1_000
const TCP_KEEP_ALIVE = 60_000

/** Makes the server that listens and that reads whatever is not read elsewhere. */
export function createNodeServer(
  options: FrontOptions,
  tls: SecureContextOptions | undefined,
): Server {
  const { maxHeaderSize, headerTimeout, clientKeepalive, maxConnections, overloadReserve } = options
  const settings: ServerOptions = {
    maxHeaderSize: maxHeaderSize,
    headersTimeout: headerTimeout,
    requestTimeout: 0,
    keepAliveTimeout: clientKeepalive,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL, headerTimeout),
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE,
    noDelay: true,
    insecureHTTPParser: false,
    // A request without Host is the app's to refuse.
    requireHostHeader: false,
  }
  const server =
    tls === undefined ? createHttpServer(settings) : createTlsServer(settings, headerTimeout, tls)
  server.maxConnections = maxConnections + overloadReserve
  server.maxHeadersCount = 0
  return server
}

/** TLS is loaded where it is in use; most pods have none, and hold a megabyte less. */
function createTlsServer(
  settings: ServerOptions,
  handshakeTimeout: number,
  tls: SecureContextOptions,
): Server {
  const { createServer } = process.getBuiltinModule('node:https')
  return createServer({ ...settings, handshakeTimeout, ...tls })
}
