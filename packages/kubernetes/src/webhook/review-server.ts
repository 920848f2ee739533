import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { CertificatePair } from './issue-certificate.ts'

const MAX_HEADER_BYTES = 16 * 1024
const HEADER_TIMEOUT_MS = 5_000
const HANDSHAKE_TIMEOUT_MS = 5_000
const SWEEP_MS = 1_000
// API servers keep a connection as long as the webhook does.
const KEEP_ALIVE_MS = 60_000
const MAX_CONNECTIONS = 1_000

interface ReviewServerOptions {
  readonly pair: CertificatePair
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** The time limit for a whole review to arrive. */
  readonly reviewTimeoutMs: number
}

/**
 * Creates a server for TLS 1.2 or newer and HTTP/1.1, with limits on size, time and connections.
 */
export function createReviewServer(options: ReviewServerOptions): Server {
  const { pair, handler, reviewTimeoutMs } = options
  const server = createServer(
    {
      cert: pair.cert,
      key: pair.key,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: Math.min(HEADER_TIMEOUT_MS, reviewTimeoutMs),
      // The handler responds to a late body with the reason.
      requestTimeout: reviewTimeoutMs + SWEEP_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SWEEP_MS,
    },
    handler,
  )
  server.maxConnections = MAX_CONNECTIONS
  // No `100 Continue` for a body that is not read.
  server.on('checkContinue', handler)
  server.on('upgrade', (_request: IncomingMessage, socket: Socket) => socket.destroy())
  server.on('connect', (_request: IncomingMessage, socket: Socket) => socket.destroy())
  // The socket of a failed handshake would stay otherwise.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
  return server
}
