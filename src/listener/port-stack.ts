import type { AgentWatch } from '../agents/agent-watch.ts'
import type { ServerHandle } from '../filters/fault.ts'
import type { Upstream } from '../http/transfer.ts'
import type { CallWatch } from '../telemetry/call-watch.ts'
import type { Logger } from '../telemetry/log.ts'
import type { TapeRecorder } from '../telemetry/tape.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Destination } from '../rules/match/call-facts.ts'
import type { FaultParts } from './faults/fault-planner.ts'
import type { NewConnections } from './faults/session-control.ts'
import { PushStreams } from './faults/source/push-streams.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { StackParts } from './layers/stack-parts.ts'
import type { Received } from './layers/received.ts'
import { PortSessions, type TableBounds } from './port-sessions.ts'
import type { RareLog } from './rare-log.ts'
import { stack } from './stack.ts'
import { TrustedMarkers } from './trusted-markers.ts'

/** Holds the parts that all ports share. */
export interface PortContext {
  readonly telemetry: Telemetry
  readonly logger: Logger
  readonly rareLog: RareLog
  readonly faults?: FaultParts | undefined
  readonly memory: MemoryBudget
  readonly watch?: CallWatch | undefined
  readonly agents?: AgentWatch | undefined
  readonly markers?: TrustedMarkers
  readonly tape?: TapeRecorder | undefined
  /** Takes the place of the upstream of served ports. */
  readonly own?: OwnUpstream | undefined
}

/** An MCP server in this process. */
export interface OwnUpstream {
  readonly name: string
  readonly upstream: Upstream
}

/** Bounds what a port holds and reads. */
export type PortBounds = TableBounds & Pick<StackParts, 'maxBody' | 'holdTimeout' | 'strict'>

/** The parts in which the transports differ. */
interface TransportParts extends Pick<
  StackParts,
  'upstream' | 'streamTransport' | 'suspect' | 'now' | 'publicAddress'
> {
  /** The destination of outgoing traffic. */
  readonly outbound?: Destination | undefined
  readonly newConnections: NewConnections
  /** The process of the upstream, where the port runs it. */
  readonly server?: ServerHandle
  /** Aborted when the port drains or closes. */
  readonly closing: AbortSignal
  /** Names the server: ports with the same one lead to the same tools. */
  readonly serverName: string
}

/** Creates the layers of a port, the table of its open calls, and its streams under faults. */
export function createStack(
  bounds: PortBounds,
  { faults, watch, agents, markers = new TrustedMarkers(false), ...shared }: PortContext,
  { closing, newConnections, server, serverName, outbound, ...own }: TransportParts,
): {
  readonly exchanges: Received
  readonly sessions: PortSessions
  readonly push: PushStreams | undefined
} {
  const { maxBody, holdTimeout, strict } = bounds
  const { telemetry, logger, memory } = shared
  const { now, streamTransport } = own
  const watched = agents && { watch: agents, server: agents.serverOf(serverName) }
  const sessions = new PortSessions(bounds, { telemetry, now, markers, watch, agents: watched })
  const { inFlight } = sessions
  const push = faults && new PushStreams(maxBody, holdTimeout)
  const planner =
    faults &&
    push &&
    faults.createPlanner(faults, {
      maxBody,
      holdTimeout,
      strict,
      maxSessions: bounds.maxSessions,
      logger,
      streamTransport,
      sessions: sessions.known,
      endpoints: sessions.endpoints,
      tasks: inFlight.tasks,
      push,
      openIn: (session) => [...inFlight.calls.inSessions.ofSession(session)],
      memory,
      closing,
      outbound,
      newConnections,
      server,
      ...(watched && { outputSchemaOf: (tool) => watched.server.outputSchema(tool) }),
    })
  inFlight.planner = planner
  const parts = { maxBody, holdTimeout, strict, inFlight, sessions, markers, planner, push }
  return { exchanges: stack({ ...shared, ...own, ...parts }), sessions, push }
}
