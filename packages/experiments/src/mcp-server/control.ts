import type { ProductionCheck } from '#rules'
import type { RunAccess } from '../operations/run-here.ts'
import type { PlanBounds } from './plan-bounds.ts'
import type { Proposals } from './proposals.ts'
import type { RunningExperiments } from './running.ts'

/** The settings of the control server, and what its clients share. */
export interface Control {
  /** The path of the policy, which every call reads again. */
  readonly policy: string
  readonly production: ProductionCheck
  readonly access: RunAccess
  readonly bounds: PlanBounds
  /** The MCP endpoints whose tools are listed. */
  readonly targets: readonly URL[]
  /** The admin token of the sidecars, for `disarm`. */
  readonly adminToken: string | undefined
  readonly proposals: Proposals
  readonly running: RunningExperiments
}
