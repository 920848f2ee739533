import type { RecentFaults } from '../listener/faults/recent-faults.ts'
import type { RulesInForce } from '../rules/rules-in-force.ts'
import type { Logger } from '../telemetry/log.ts'
import { type AdminAnswer, jsonAnswer } from './admin-answer.ts'
import { arm, disarm } from './api-changes.ts'
import { showRules } from './api-rules.ts'
import { showRulesState } from './api-state.ts'
import { isoTime } from './api-time.ts'
import type { AdminRoute, Readiness } from './routes.ts'

/** What the API shows and changes. */
export interface ApiSources {
  readonly rules: RulesInForce
  readonly recent: RecentFaults | undefined
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
  /** Where this runs, as the operator calls it. */
  readonly environment: string | undefined
  /** Whether there is a token, without which nothing can be changed. */
  readonly canChange: boolean
  readonly logger: Logger
}

/** The paths of the API by name. */
export function apiRoutes(sources: ApiSources): readonly (readonly [string, AdminRoute])[] {
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
  const { rules, version, environment, canChange } = sources
  const { ready, reason } = await sources.readiness()
  const uptime = process.uptime()
  return jsonAnswer(200, {
    version,
    environment: environment ?? null,
    startedAt: isoTime(rules.clock() - uptime * 1000),
    uptimeSeconds: Math.round(uptime * 1000) / 1000,
    readiness: { ready, reason },
    canChange,
    ...showRulesState(rules),
  })
}

function showFaults(recent: RecentFaults | undefined): object {
  const faults = recent?.list() ?? []
  return {
    total: recent?.total ?? 0,
    faults: faults.map(({ at, entry }) => ({ at: isoTime(at), ...entry })),
  }
}
