import { createServer, type Server } from 'node:http'
import type { ListenAddress } from '../http/address.ts'
import { bind, type BoundAddress } from '../listener/front/bind.ts'
import { RareLog } from '../listener/rare-log.ts'
import type { RecentFaults } from '../listener/faults/fault-report.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { TemporaryFaults } from '../rules/watch/temporary-faults.ts'
import type { CallLine } from '../telemetry/call-line.ts'
import type { CallWatch } from '../telemetry/call-watch.ts'
import type { Logger } from '../telemetry/log.ts'
import type { AdminRejection } from '../telemetry/metrics.ts'
import type { OutboundCounts } from '../telemetry/outbound-counts.ts'
import type { ToolsSource } from '../telemetry/tool-sample.ts'
import { apiResponse, rejection } from './admin-response.ts'
import { API, type LiveEvent, type VerdictLine } from './contract/api.ts'
import { parseCallFilter, parseVerdictFilter } from './contract/filters.ts'
import { arm, disarm } from './api-changes.ts'
import { faultsRoute } from './api-faults.ts'
import { type ProcessFacts, showErrors, showFaults, showRules, showState } from './api-show.ts'
import { EventStreams } from './event-streams.ts'
import { appHealthRoutes } from './probes/app-health.ts'
import type { AppProbes } from './probes/app-probe.ts'
import { changeGuard, type ReadAccess, readGuard } from './guards.ts'
import { TrafficHistory } from './traffic-history.ts'
import { serveWithin } from './connection-limit.ts'
import { createHandler } from './handler.ts'
import { liveSnapshots } from './live-snapshot.ts'
import { pageResponse, pageRoutes } from './page-files.ts'
import { showAgents, WITHOUT_TASKS } from './show-agents.ts'
import { type AgentSource, showTasks, verdictLine } from './show-tasks.ts'
import { TapStreams } from './tap-streams.ts'
import { createRoutes, routeOf, type Routes, type RouteSources } from './routes.ts'

export interface AdminOptions extends RouteSources, ProcessFacts {
  readonly metrics: RouteSources['metrics'] & { adminRejected?(reason: AdminRejection): void }
  readonly logger: Logger
  /** Shown and changed under /api, which does not exist without them. */
  readonly rules?: ActiveRules | undefined
  readonly recent?: RecentFaults | undefined
  /** Adds rules of no file under /api/faults. */
  readonly temporary?: TemporaryFaults | undefined
  /** Paths of another API. */
  readonly compat?: Routes | undefined
  readonly tools?: ToolsSource | undefined
  /** Shows single calls, with or without rules. */
  readonly watch?: CallWatch | undefined
  /** Shows connections to dependencies; undefined without any. */
  readonly outbound?: OutboundCounts | undefined
  /** Shows tasks of agents; undefined where they are not watched. */
  readonly agents?: AgentSource | undefined
  readonly access?: ReadAccess
  /** The probes that are sent to the upstream on behalf of the kubelet. */
  readonly appProbes?: AppProbes
  readonly maxConnections?: number
  readonly bodyTimeoutMs?: number
}

/** The admin port: health, readiness, metrics, an API of the rules and a page that shows them. */
export interface Admin {
  readonly paths: readonly string[]
  /** Binds, and returns the real port where the port was 0. */
  listen(address: ListenAddress): Promise<BoundAddress>
  /** Stops accepting, lets responses end for a moment, then closes all connections. */
  close(): Promise<void>
}

const MAX_HEADER_BYTES = 16 * 1024
const HEADER_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 10_000
const BODY_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 5_000
const SWEEP_MS = 1_000
const REJECTION_LOG_MS = 5_000
const MAX_CONNECTIONS = 256

/** Creates the admin port without binding it. */
export function createAdmin(options: AdminOptions): Admin {
  const { rules, token, logger } = options
  // Without rules there is nothing to show.
  const api = rules && createApi(rules, options)
  const health = appHealthRoutes(options.appProbes ?? [], logger)
  const calls = options.watch && createCalls(options.watch)
  const agents = options.agents && createAgents(options.agents)
  const shown = api === undefined ? [] : [...api.routes, ...pageRoutes()]
  const compat = options.compat ?? []
  const ofAgents = agents?.routes ?? [WITHOUT_AGENTS]
  const more = [...health, ...(calls?.routes ?? []), ...ofAgents, ...shown, ...compat]
  const routes = createRoutes(options, more, api && pageResponse)
  const handler = createHandler({
    routes,
    changeGuard: changeGuard(token),
    readGuard: readGuard(options.access ?? {}, token),
    logger,
    clock: rules?.clock ?? Date.now,
    rejections: new RareLog(logger, () => performance.now(), REJECTION_LOG_MS),
    bodyTimeoutMs: options.bodyTimeoutMs ?? BODY_TIMEOUT_MS,
    countRejection: (reason) => options.metrics.adminRejected?.(reason),
  })
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADER_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: SWEEP_MS,
  })
  serveWithin(options.maxConnections ?? MAX_CONNECTIONS, server, handler)
  return {
    paths: [...routes.keys()],
    listen: (address) => {
      api?.history.start()
      return bind(server, address)
    },
    close: () => {
      api?.streams.close()
      api?.history.stop()
      calls?.taps.close()
      agents?.taps.close()
      return endServer(server)
    },
  }
}

/** Routes with a stream, which ends with the server. */
interface Streamed<Line> {
  readonly routes: Routes
  readonly taps: TapStreams<Line>
}

/** Says how to watch agents, where they are not watched; not listed. */
const WITHOUT_AGENTS = [
  API.agents.path,
  { stream: () => rejection(404, { error: WITHOUT_TASKS }) },
] as const

/** Creates the API of tasks. */
function createAgents(source: AgentSource): Streamed<VerdictLine> {
  const taps = new TapStreams<VerdictLine>({
    read: (reader) => source.watch.read((event) => reader(verdictLine(event, source))),
    filter: parseVerdictFilter,
  })
  const routes = [
    routeOf(API.tasks, {
      stream: (_, query) => apiResponse(API.tasks, showTasks(source, query)),
    }),
    routeOf(API.agents, {
      stream: (_, query) => apiResponse(API.agents, showAgents(source, query)),
    }),
    routeOf(API.verdicts, { stream: (response, query) => taps.open(response, query) }),
  ]
  return { routes, taps }
}

/** Creates the API of single calls. */
function createCalls(watch: CallWatch): Streamed<CallLine> {
  const taps = new TapStreams({ read: (reader) => watch.read(reader), filter: parseCallFilter })
  const routes = [
    routeOf(API.errors, { read: () => apiResponse(API.errors, showErrors(watch.errors)) }),
    routeOf(API.tap, { stream: (response, query) => taps.open(response, query) }),
  ]
  return { routes, taps }
}

/** Creates the API of the rules. But for the history, it costs nothing before the first request. */
function createApi(
  rules: ActiveRules,
  options: AdminOptions,
): {
  readonly routes: Routes
  readonly streams: EventStreams
  readonly history: TrafficHistory
} {
  const { recent, tools = () => [], watch, outbound, agents, readiness, logger } = options
  const parts = { rules, logger }
  const { temporary } = options
  const state = (): LiveEvent['state'] => showState(rules, options)
  const streams = new EventStreams(
    liveSnapshots({ rules, recent, tools, samples: watch?.errors, outbound, agents, state }),
  )
  const history = new TrafficHistory(tools, rules.clock)
  const routes = [
    routeOf(API.state, {
      read: async () => {
        const { ready, reason } = await readiness()
        return apiResponse(API.state, { ...state(), readiness: { ready, reason } })
      },
    }),
    routeOf(API.rules, { read: () => apiResponse(API.rules, showRules(rules)) }),
    routeOf(API.injections, { read: () => apiResponse(API.injections, showFaults(recent)) }),
    routeOf(API.history, {
      read: () => apiResponse(API.history, history.show(agents?.counts.tools)),
    }),
    routeOf(API.events, { stream: (response) => streams.open(response) }),
    routeOf(API.disarm, { change: (request) => disarm(parts, request) }),
    routeOf(API.arm, { change: (request) => arm(parts, request) }),
    ...(temporary === undefined ? [] : [faultsRoute({ ...parts, temporary })]),
  ]
  return { routes, streams, history }
}

/** Stops accepting, lets requests end, and cuts the rest after the grace time. */
export function endServer(server: Server, graceMs = 1_000): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    const grace = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearTimeout(grace)
      resolve()
    })
    server.closeIdleConnections()
  })
}
