import type { ControlRequest } from '../commands/mcp.ts'
import type { Proposals } from './proposals.ts'
import type { RunningExperiments } from './running.ts'

/** The settings of the control server, and what its clients share. */
export interface Control extends ControlRequest {
  readonly proposals: Proposals
  readonly running: RunningExperiments
}
