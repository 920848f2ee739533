import type { Failure, Upstream } from '../../http/transfer.ts'
import type { classifyBody } from '../../mcp/classify.ts'
import type { Transport } from '../../mcp/call.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { TapeRecorder } from '../../telemetry/tape.ts'
import type { FaultPlanner } from '../faults/fault-planner.ts'
import type { PushStreams } from '../faults/source/push-streams.ts'
import type { InFlightRequests } from '../in-flight-requests.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { PortSessions } from '../port-sessions.ts'
import type { PublicAddress } from '../public-address.ts'
import type { RareLog } from '../rare-log.ts'
import type { TrustedMarkers } from '../trusted-markers.ts'

/** The parts of a port that its layers share. */
export interface StackParts {
  readonly upstream: Upstream
  readonly inFlight: InFlightRequests
  readonly sessions: PortSessions
  readonly markers: TrustedMarkers
  readonly telemetry: Telemetry
  readonly logger: Logger
  readonly rareLog: RareLog
  readonly memory: MemoryBudget
  readonly now: () => number
  /** Called for responses that a wrong address or protocol of the upstream would explain. */
  readonly suspect?: ((failure?: Failure) => void) | undefined
  /** Undefined when no rule can become active. */
  readonly planner?: FaultPlanner | undefined
  /** The push streams, on which faults act on responses that arrive there. */
  readonly push?: PushStreams | undefined
  /** Undefined when the clients use the address of the upstream. */
  readonly publicAddress?: PublicAddress | undefined
  /** Undefined when nothing is recorded. */
  readonly tape?: TapeRecorder | undefined
  /** The transport of a session whose responses come on its stream. */
  readonly streamTransport: Transport
  /** The largest body that is read. */
  readonly maxBody: number
  /** The longest wait for requests that must not be overtaken, in milliseconds. */
  readonly holdTimeout: number
  /**
   * Fails a request that could not be read because of an internal error, instead of forwarding it.
   */
  readonly strict: boolean
  /** Replaces `classifyBody` in tests. */
  readonly classify?: typeof classifyBody
}
