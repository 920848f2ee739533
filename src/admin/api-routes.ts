import type { RecentFaults } from '../listener/faults/recent-faults.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ToolsSource } from '../telemetry/tool-sample.ts'
import { type AdminResponse, apiResponse } from './admin-response.ts'
import { API, type LiveEvent } from './api.ts'
import { arm, disarm } from './api-changes.ts'
import { showFaults } from './api-faults.ts'
import { showRules } from './api-rules.ts'
import { type ProcessState, showRulesState } from './api-state.ts'
import { isoTime } from './api-time.ts'
import { EventStreams } from './event-streams.ts'
import { liveSnapshots } from './live-snapshot.ts'
import { type AdminRoute, type Readiness, routeOf } from './routes.ts'

/** The state that the API shows and changes. */
export interface ApiSources {
  readonly rules: ActiveRules
  readonly recent: RecentFaults | undefined
  readonly tools: ToolsSource
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
  /** Where this runs, as the operator calls it. */
  readonly environment: string | undefined
  readonly namespace: string | undefined
  /** True when there is a token, without which nothing can be changed. */
  readonly canChange: boolean
  readonly logger: Logger
}

/** The API of the rules, by path. */
export interface Api {
  readonly routes: readonly (readonly [string, AdminRoute])[]
  /** Ends what would go on for ever. */
  close(): void
}

/** Creates the API; nothing of it costs anything until somebody asks. */
export function createApi(sources: ApiSources): Api {
  const { rules, recent, tools } = sources
  const state = (): LiveEvent['state'] => showProcess(sources)
  const streams = new EventStreams(liveSnapshots({ rules, recent, tools, state }))
  return { routes: apiRoutes(sources, streams), close: () => streams.close() }
}

function apiRoutes(
  sources: ApiSources,
  streams: EventStreams,
): readonly (readonly [string, AdminRoute])[] {
  const { rules, recent, logger } = sources
  return [
    routeOf(API.state, { read: () => showState(sources) }),
    routeOf(API.rules, { read: () => apiResponse(API.rules, showRules(rules)) }),
    routeOf(API.faults, { read: () => apiResponse(API.faults, showFaults(recent)) }),
    routeOf(API.events, { stream: (response) => streams.open(response) }),
    routeOf(API.disarm, { change: (request) => disarm({ rules, logger }, request) }),
    routeOf(API.arm, { change: (request) => arm({ rules, logger }, request) }),
  ]
}

async function showState(sources: ApiSources): Promise<AdminResponse> {
  const { ready, reason } = await sources.readiness()
  return apiResponse(API.state, { ...showProcess(sources), readiness: { ready, reason } })
}

/** Shows the state of the process and its rules that is known without I/O. */
function showProcess({
  rules,
  version,
  environment,
  namespace,
  canChange,
}: ApiSources): LiveEvent['state'] {
  const uptime = process.uptime()
  const own: ProcessState = {
    version,
    environment: environment ?? null,
    ...(namespace !== undefined && { namespace }),
    startedAt: isoTime(rules.clock() - uptime * 1000),
    uptimeSeconds: Math.round(uptime * 1000) / 1000,
    canChange,
  }
  return { ...own, ...showRulesState(rules) }
}
