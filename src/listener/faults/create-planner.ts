import type { Sessions } from '../../mcp/sessions.ts'
import type { RulesInForce } from '../../rules/rules-in-force.ts'
import type { Logger } from '../../telemetry/log.ts'
import { ExpiredSessions } from './expired-sessions.ts'
import type { FaultListener } from './fault-events.ts'
import { FaultPlanner } from './fault-planner.ts'
import type { ExchangeHost } from './turn-setting.ts'

/** What makes faults of rules. */
export interface FaultParts {
  readonly rules: RulesInForce
  readonly listener: FaultListener
}

/** Bounds, and what to do when planning itself fails. */
export interface PlannerLimits {
  readonly maxSessions: number
  readonly maxBody: number
  readonly strict: boolean
}

/** The listener that faults may reach out to. */
export interface PlannerHost {
  readonly logger: Logger
  readonly sessions: Sessions
  /** New connections are reset for as long as this says so. */
  refuseWhile(refused: () => boolean): void
}

/** Makes the planner of one listener. */
export function createPlanner(
  { rules, listener }: FaultParts,
  { maxSessions, maxBody, strict }: PlannerLimits,
  host: PlannerHost,
): FaultPlanner {
  const expired = new ExpiredSessions(maxSessions)
  return new FaultPlanner({
    rules,
    sessions: host.sessions,
    listener,
    expired,
    hostOf: (session) => hostOf(session, expired, host),
    push: undefined,
    maxBody,
    broke: (error) => {
      if (strict) throw error
      host.logger.error({ err: error }, 'rules could not be applied; the exchange passes')
    },
  })
}

function hostOf(session: string, expired: ExpiredSessions, host: PlannerHost): ExchangeHost {
  return {
    expireSession: (by) => {
      if (session === '') return false
      expired.add(session, by)
      return true
    },
    refuseConnections: (ms, { retired }) => {
      const until = performance.now() + ms
      host.refuseWhile(() => performance.now() < until && !retired.aborted)
    },
  }
}
