import type { RecentFaults } from '../listener/faults/recent-faults.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ToolsSource } from '../telemetry/tool-sample.ts'
import { apiResponse } from './admin-response.ts'
import { API, type LiveEvent } from './api.ts'
import { arm, disarm } from './api-changes.ts'
import { type ProcessFacts, showFaults, showRules, showState } from './api-show.ts'
import { EventStreams } from './event-streams.ts'
import { liveSnapshots } from './live-snapshot.ts'
import { type AdminRoute, type Readiness, routeOf } from './routes.ts'

/** The state that the API shows and changes. */
export interface ApiSources extends ProcessFacts {
  readonly recent: RecentFaults | undefined
  readonly tools: ToolsSource
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly logger: Logger
}

/** The API of the rules, by path. */
export interface Api {
  readonly routes: readonly (readonly [string, AdminRoute])[]
  /** Ends the event streams. */
  close(): void
}

/** Creates the API, which costs nothing before the first request. */
export function createApi(sources: ApiSources): Api {
  const { rules, recent, tools } = sources
  const state = (): LiveEvent['state'] => showState(sources)
  const streams = new EventStreams(liveSnapshots({ rules, recent, tools, state }))
  const routes = [
    routeOf(API.state, {
      read: async () => {
        const { ready, reason } = await sources.readiness()
        return apiResponse(API.state, { ...state(), readiness: { ready, reason } })
      },
    }),
    routeOf(API.rules, { read: () => apiResponse(API.rules, showRules(rules)) }),
    routeOf(API.faults, { read: () => apiResponse(API.faults, showFaults(recent)) }),
    routeOf(API.events, { stream: (response) => streams.open(response) }),
    routeOf(API.disarm, { change: (request) => disarm(sources, request) }),
    routeOf(API.arm, { change: (request) => arm(sources, request) }),
  ]
  return { routes, close: () => streams.close() }
}
