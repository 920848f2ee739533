import type { Endpoints } from '../../mcp/endpoints.ts'
import type { Sessions } from '../../mcp/sessions.ts'
import type { HeaderFaults } from '../../rules/select/header-faults.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import { ExpiredSessions } from './expired-sessions.ts'
import type { FaultListener } from './fault-events.ts'
import { FaultPlanner } from './fault-planner.ts'
import type { PushStreams } from './source/push-streams.ts'
import type { ExchangeHost } from './chain/turn-setting.ts'

/** What makes faults of rules. */
export interface FaultParts {
  readonly rules: ActiveRules
  /** Told of the faults of one session's exchanges. */
  readonly listenerOf: (session: string, trace: string | undefined) => FaultListener
  /** Undefined where callers may ask for nothing. */
  readonly headerFaults?: HeaderFaults | undefined
  /** Handed in, so that whoever has no rules need not load what makes faults. */
  readonly createPlanner: typeof createPlanner
}

/** Bounds, and what to do when planning itself fails. */
export interface PlannerLimits {
  readonly maxSessions: number
  readonly maxBody: number
  readonly holdTimeout: number
  readonly strict: boolean
}

/** The listener that faults may reach out to. */
export interface PlannerHost {
  readonly logger: Logger
  readonly sessions: Sessions
  readonly endpoints: Endpoints
  readonly push: PushStreams
  readonly memory: MemoryBudget
  /** Aborted when the listener drains or closes. */
  readonly closing: AbortSignal
  /** New connections are reset for as long as this says so. */
  resetWhile(isDown: () => boolean): void
}

/** Makes the planner of one listener. */
export function createPlanner(
  { rules, listenerOf, headerFaults }: FaultParts,
  { maxSessions, maxBody, holdTimeout, strict }: PlannerLimits,
  host: PlannerHost,
): FaultPlanner {
  const expired = new ExpiredSessions(maxSessions)
  return new FaultPlanner({
    rules,
    sessions: host.sessions,
    listenerOf,
    headerFaults,
    expired,
    hostOf: (session) => hostOf(session, expired, host),
    push: host.push,
    memory: host.memory,
    closing: host.closing,
    maxBody,
    holdTimeout,
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
      const isEndpoint = host.endpoints.lookup(session) === session
      expired.add(session, by)
      host.push.end(session, 'fin')
      // Its endpoint went with its stream. What is still posted there is posted to the lost session.
      if (isEndpoint) host.endpoints.announce('/', session)
      return true
    },
    isSessionOver: () => expired.of(session) !== undefined || host.sessions.hasEnded(session),
    refuseConnections: (ms, { retired }) => {
      const until = performance.now() + ms
      host.resetWhile(() => performance.now() < until && !retired.aborted)
    },
  }
}
