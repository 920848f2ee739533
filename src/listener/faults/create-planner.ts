import type { Endpoints } from '../../mcp/endpoints.ts'
import type { Sessions } from '../../mcp/sessions.ts'
import type { TaskTools } from '../../mcp/task-tools.ts'
import type { HeaderFaults } from '../../rules/select/header-faults.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { OpenCall } from '../disturbance.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { Canaries } from './canaries.ts'
import { ExpiredSessions } from './expired-sessions.ts'
import type { FaultListener } from './fault-events.ts'
import { FaultPlanner } from './fault-planner.ts'
import type { PushStreams } from './source/push-streams.ts'
import type { ExchangeControl, FaultOrigin } from './exchange-faults-options.ts'

/** Configures the faults of a sidecar. */
export interface FaultParts {
  readonly rules: ActiveRules
  /** Returns the listener for the faults of one session's exchanges. */
  readonly listenerOf: (session: string, trace: string | undefined) => FaultListener
  /** Undefined when faults by header are disabled. */
  readonly headerFaults?: HeaderFaults | undefined
  /** Shared by all listeners: an agent may send to one what it read from another. */
  readonly canaries: Canaries
  /** Passed in, so that a sidecar without rules does not load the planner. */
  readonly createPlanner: typeof createPlanner
}

/** Bounds of a planner; `strict` rethrows planning errors. */
export interface PlannerLimits {
  readonly maxSessions: number
  /** The largest response that is held for faults that need all of it. */
  readonly maxBody: number
  /** The time for which a response is held; one at the least rate may take longer. */
  readonly holdTimeout: number
  readonly strict: boolean
}

/** The parts of the listener on which faults act. */
export interface PlannerContext {
  readonly logger: Logger
  readonly sessions: Sessions
  readonly endpoints: Endpoints
  readonly tasks: TaskTools
  readonly push: PushStreams
  /** Returns the open calls of a session. */
  readonly openIn: (session: string) => readonly OpenCall[]
  readonly memory: MemoryBudget
  /** Aborted when the listener drains or closes: copies and streams end then. */
  readonly closing: AbortSignal
  /** Resets new connections while `isDown` returns true. */
  resetWhile(isDown: () => boolean): void
}

/** Creates the planner of one listener. */
export function createPlanner(
  parts: FaultParts,
  limits: PlannerLimits,
  context: PlannerContext,
): FaultPlanner {
  const expired = new ExpiredSessions(limits.maxSessions)
  return new FaultPlanner({
    ...limits,
    ...parts,
    ...context,
    expired,
    controlOf: (session) => new SessionControl(session, expired, parts.canaries, context),
    onError: (error) => {
      if (limits.strict) throw error
      context.logger.error({ err: error }, 'rules could not be applied; the exchange passes')
    },
  })
}

/** Offers the faults of one session effects beyond their exchange. */
class SessionControl implements ExchangeControl {
  readonly #session: string
  readonly #expired: ExpiredSessions
  readonly #canaries: Canaries
  readonly #context: PlannerContext

  constructor(
    session: string,
    expired: ExpiredSessions,
    canaries: Canaries,
    context: PlannerContext,
  ) {
    this.#session = session
    this.#expired = expired
    this.#canaries = canaries
    this.#context = context
  }

  expireSession(by: FaultOrigin): boolean {
    const session = this.#session
    const { endpoints, push } = this.#context
    if (session === '') return false
    const isEndpoint = endpoints.lookup(session) === session
    this.#expired.add(session, by)
    push.end(session, 'fin')
    // The endpoint ended with its stream; later POSTs to it belong to the ended session.
    if (isEndpoint) endpoints.announce('/', session)
    return true
  }

  hasSessionEnded(): boolean {
    const session = this.#session
    return this.#expired.of(session) !== undefined || this.#context.sessions.hasEnded(session)
  }

  refuseConnections(ms: number, { retired }: FaultOrigin): void {
    const until = performance.now() + ms
    this.#context.resetWhile(() => performance.now() < until && !retired.aborted)
  }

  watchFor(word: string): void {
    this.#canaries.add(word)
  }
}
