import { createServer, type Server } from 'node:http'
import type { ListenAddress } from '../http/address.ts'
import { bind, type BoundAddress } from '../listener/front/bind.ts'
import type { RecentFaults } from '../listener/faults/recent-faults.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { Logger } from '../telemetry/log.ts'
import type { AdminRejection, Exposition } from '../telemetry/metrics.ts'
import type { TextFormat } from '../telemetry/text-format.ts'
import type { ToolsSource } from '../telemetry/tool-sample.ts'
import { createApi } from './api-routes.ts'
import { appHealthRoutes } from './probes/app-health.ts'
import type { AppProbes } from './probes/app-probe.ts'
import { changeGuard, type ReadAccess, readGuard } from './guards.ts'
import { createHandler } from './handler.ts'
import { pageResponse, pageRoutes } from './page-files.ts'
import { createRoutes, type Readiness } from './routes.ts'

/** Configures the admin port. */
export interface AdminOptions {
  readonly metrics: {
    render(format: TextFormat): Promise<Exposition>
    adminRefused?(reason: AdminRejection): void
  }
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly logger: Logger
  readonly version: string
  /** Shown and changed under /api; without them there is no such path. */
  readonly rules?: ActiveRules | undefined
  /** The faults that took effect last. */
  readonly recent?: RecentFaults | undefined
  /** The calls by tool, as the page shows them. */
  readonly tools?: ToolsSource | undefined
  /** The token that changes need; without one nothing can be changed. */
  readonly token?: string | undefined
  readonly access?: ReadAccess
  /** The probes that are sent to the app on behalf of the kubelet. */
  readonly appProbes?: AppProbes
  /** Where this runs, as the operator calls it. */
  readonly environment?: string | undefined
  /** The namespace of the pod. */
  readonly namespace?: string | undefined
  readonly maxConnections?: number
  /** The time limit for the body of a change. */
  readonly bodyTimeoutMs?: number
}

/** The admin port: health, readiness, metrics, an API of the rules and a page that shows them. */
export interface Admin {
  /** Every path that is served. */
  readonly paths: readonly string[]
  /** Binds and tells where: port 0 has become a real one. */
  listen(address: ListenAddress): Promise<BoundAddress>
  /** Stops accepting, lets answers under way end for a moment, then closes what is left. */
  close(): Promise<void>
}

const MAX_HEAD_BYTES = 16 * 1024
const HEAD_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 10_000
const BODY_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 5_000
const SWEEP_MS = 1_000
const MAX_CONNECTIONS = 256
const CLOSE_GRACE_MS = 1_000

/** Creates the admin port without binding it. */
export function createAdmin(options: AdminOptions): Admin {
  const { rules, recent, tools = () => [], environment, namespace, token, logger } = options
  // Without rules there is nothing to show.
  const api =
    rules &&
    createApi({
      ...options,
      rules,
      recent,
      tools,
      environment,
      namespace,
      canChange: token !== undefined,
    })
  const page = api && pageResponse
  const health = appHealthRoutes(options.appProbes ?? [], logger)
  const more = api === undefined ? health : [...health, ...api.routes, ...pageRoutes()]
  const routes = createRoutes({ ...options, page }, more)
  const handler = createHandler({
    routes,
    changeGuard: changeGuard(token),
    readGuard: readGuard(options.access ?? {}, token),
    logger,
    bodyTimeoutMs: options.bodyTimeoutMs ?? BODY_TIMEOUT_MS,
    countRejection: (reason) => options.metrics.adminRefused?.(reason),
  })
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
  server.maxConnections = options.maxConnections ?? MAX_CONNECTIONS
  // No `100 Continue` for a body that is not read.
  server.on('checkContinue', handler)
  return {
    paths: [...routes.keys()],
    listen: (address) => bind(server, address),
    close: () => {
      api?.close()
      return close(server)
    },
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
