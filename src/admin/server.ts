import { createServer, type Server } from 'node:http'
import type { ListenAddress } from '../listener/address.ts'
import { bind, type BoundAddress } from '../listener/bind.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Exposition } from '../telemetry/metrics.ts'
import { createRoutes, type Readiness } from './routes.ts'
import { type AdminHandler, createHandler } from './handler.ts'

/** What the admin port shows. */
export interface AdminOptions {
  readonly metrics: { render(): Promise<Exposition> }
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly logger: Logger
  readonly version: string
}

/** The admin port: health, readiness and metrics. */
export interface Admin {
  /** For use in a server of one's own. */
  readonly handler: AdminHandler
  /** Binds and tells where: port 0 has become a real one. */
  listen(address: ListenAddress): Promise<BoundAddress>
  /** Stops accepting, lets answers under way end for a moment, then closes what is left. */
  close(): Promise<void>
}

const MAX_HEAD_BYTES = 16 * 1024
const HEAD_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 5_000
const SWEEP_MS = 1_000
const MAX_CONNECTIONS = 256
const CLOSE_GRACE_MS = 1_000

/** Creates the admin port without binding it. */
export function createAdmin(options: AdminOptions): Admin {
  const handler = createHandler(createRoutes(options), options.logger)
  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: HEAD_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: SWEEP_MS,
    },
    handler,
  )
  server.maxConnections = MAX_CONNECTIONS
  // Answered at once: nobody is told to go on with a body that is not read.
  server.on('checkContinue', handler)
  return {
    handler,
    listen: (address) => bind(server, address),
    close: () => close(server),
  }
}

function close(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    const grace = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS)
    server.close(() => {
      clearTimeout(grace)
      resolve()
    })
    server.closeIdleConnections()
  })
}
