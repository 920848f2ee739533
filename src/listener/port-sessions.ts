import type { AgentWatch } from '../agents/agent-watch.ts'
import type { Origin, Outcome } from '../mcp/call.ts'
import { Endpoints } from '../mcp/endpoints.ts'
import { type Session, Sessions } from '../mcp/sessions.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { CallEntry } from './call-entry.ts'
import { type InFlightOptions, InFlightRequests } from './in-flight-requests.ts'

/** Bounds the tables of a port. */
export interface TableBounds extends InFlightOptions {
  readonly maxSessions: number
}

type SessionContext = Omit<ConstructorParameters<typeof InFlightRequests>[1], 'sessions'>

/** Follows the sessions of a port, and ends the open calls of those that end. */
export class PortSessions {
  readonly inFlight: InFlightRequests
  readonly known: Sessions
  readonly endpoints: Endpoints
  readonly #agents: AgentWatch | undefined
  readonly #telemetry: Telemetry
  #reported = { sessions: 0, in_flight_calls: 0 }

  constructor(bounds: TableBounds, parts: SessionContext) {
    const { telemetry, agents } = parts
    this.known = new Sessions(bounds.maxSessions, () => telemetry.evicted('sessions'))
    this.endpoints = new Endpoints(bounds.maxSessions, () => telemetry.evicted('endpoints'))
    this.inFlight = new InFlightRequests(bounds, { ...parts, sessions: this.known })
    this.#agents = agents?.watch
    this.#telemetry = telemetry
  }

  /** Ends calls that take too long, and reports the numbers of sessions and of calls in flight. */
  sweep(): void {
    this.inFlight.sweep()
    const found = { sessions: this.known.size, in_flight_calls: this.inFlight.calls.size }
    for (const name of ['sessions', 'in_flight_calls'] as const) {
      this.#telemetry.gauge(name, found[name] - this.#reported[name])
    }
    this.#reported = found
  }

  /** Records the session that an `initialize` began. */
  began({ action }: CallEntry, id: string, session: Session): void {
    this.known.learn(id, session)
    if (action !== undefined) this.#agents?.sessionBegan(action, id)
  }

  /** Closes a stream of HTTP+SSE; the last stream ends the session. */
  closeEndpoint(session: string, outcome: Outcome, origin: Origin): void {
    this.#agents?.sessionLeft(session)
    if (this.endpoints.forget(session)) this.end(session, outcome, origin)
  }

  /**
   * Suspends the held calls of a session whose client asks for its end, so that no call follows
   * that end. Returns a function to call with the upstream's status, or 0.
   */
  ending(session: string): (status: number) => void {
    let resume: () => void = () => undefined
    this.#agents?.sessionLeft(session)
    const until = new Promise<void>((resolve) => (resume = resolve))
    for (const { faults } of this.inFlight.calls.inSessions.ofSession(session))
      faults?.request.suspend(until)
    return (status) => {
      const hasEnded = (status >= 200 && status < 300) || status === 404
      if (hasEnded) this.end(session, 'abandoned', 'real')
      resume()
    }
  }

  /** Ends a session. Calls that the upstream got stay open while their exchange is open. */
  end(session: string, outcome: Outcome, origin: Origin): void {
    this.known.forget(session)
    for (const entry of this.inFlight.calls.inSessions.dropSession(session)) {
      if (!entry.exchangeOpen || entry.faults?.request.holds === true) {
        this.inFlight.abandon(entry, outcome, origin)
      } else entry.fallback = outcome
    }
  }
}
