import type { IncomingMessage, RequestListener } from 'node:http'
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

/**
 * Creates a server for TLS 1.2 or newer and HTTP/1.1, with limits on size and connections, and on the
 * time for a whole review to arrive.
 */
export function createReviewServer(
  { cert, key }: CertificatePair,
  reviewTimeoutMs: number,
  handler: RequestListener,
): Server {
  const server = createServer(
    {
      cert,
      key,
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
