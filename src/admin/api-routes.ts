import type { RecentFaults } from '../listener/faults/recent-faults.ts'
import type { RulesInForce } from '../rules/watch/active-rules.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ToolsSource } from '../telemetry/tool-sample.ts'
import { type AdminAnswer, jsonAnswer } from './admin-response.ts'
import { arm, disarm } from './api-changes.ts'
import { showFaults } from './api-faults.ts'
import { showRules } from './api-rules.ts'
import { showRulesState } from './api-state.ts'
import { isoTime } from './api-time.ts'
import { EventStreams } from './event-streams.ts'
import { liveSnapshots } from './live-snapshot.ts'
import type { AdminRoute, Readiness } from './routes.ts'

/** What the API shows and changes. */
export interface ApiSources {
  readonly rules: RulesInForce
  readonly recent: RecentFaults | undefined
  readonly tools: ToolsSource
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
  /** Where this runs, as the operator calls it. */
  readonly environment: string | undefined
  /** Whether there is a token, without which nothing can be changed. */
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
  const state = (): object => showProcess(sources)
  const streams = new EventStreams(liveSnapshots({ rules, recent, tools, state }))
  return { routes: apiRoutes(sources, streams), close: () => streams.close() }
}

function apiRoutes(
  sources: ApiSources,
  streams: EventStreams,
): readonly (readonly [string, AdminRoute])[] {
  const { rules, recent, logger } = sources
  return [
    [
      '/api/state',
      {
        summary: 'whether rules may act and why not, and what became of the last reload, as JSON',
        read: () => showState(sources),
      },
    ],
    [
      '/api/rules',
      {
        summary: 'the rules in force with what became of their calls, as JSON',
        read: () => jsonAnswer(200, showRules(rules)),
      },
    ],
    [
      '/api/faults',
      {
        summary: 'the last faults that took effect, newest first, as JSON',
        read: () => jsonAnswer(200, showFaults(recent)),
      },
    ],
    [
      '/api/events',
      {
        summary: 'all of this and the calls by tool, once a second, as server-sent events',
        stream: (response) => streams.open(response),
      },
    ],
    [
      '/api/disarm',
      {
        summary: 'POST, with the admin token: no rule acts until /api/arm',
        change: (request) => disarm({ rules, logger }, request),
      },
    ],
    [
      '/api/arm',
      {
        summary: 'POST, with the admin token: rules may act again',
        change: (request) => arm({ rules, logger }, request),
      },
    ],
  ]
}

async function showState(sources: ApiSources): Promise<AdminAnswer> {
  const { ready, reason } = await sources.readiness()
  return jsonAnswer(200, { ...showProcess(sources), readiness: { ready, reason } })
}

/** What is known of the process and its rules without asking anybody. */
function showProcess({ rules, version, environment, canChange }: ApiSources): object {
  const uptime = process.uptime()
  return {
    version,
    environment: environment ?? null,
    startedAt: isoTime(rules.clock() - uptime * 1000),
    uptimeSeconds: Math.round(uptime * 1000) / 1000,
    canChange,
    ...showRulesState(rules),
  }
}
