import type { SidecarAdmin } from '../../admin/api-client.ts'
import type { CallSpec } from '../load/load-options.ts'
import type { Expectation } from '../load/expectation.ts'
import type { SloGate } from '../load/results/slo.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import type { Gate } from './gate.ts'
import type { PlanFile } from './plan-schema.ts'
import type { RulesSource } from './rules-source.ts'

export interface Stage {
  /** `10%`, `10% of pods`, or `kill`. */
  readonly label: string
  /** In percent; undefined when no rule is armed. */
  readonly share: number | undefined
}

/** A valid plan. */
export interface Plan {
  readonly file: PlanFile
  /** The digest of everything that determines the experiment, including the rules. */
  readonly digest: string
  /** Undefined when the plan only kills a process. */
  readonly rules: RulesSource | undefined
  readonly seed: number
  readonly target: URL
  readonly admin: SidecarAdmin
  /** This path and the following paths are absolute. */
  readonly rulesFile: string
  readonly pidFile: string | undefined
  readonly calls: readonly CallSpec[]
  readonly expectations: readonly Expectation[]
  readonly steady: readonly Gate[]
  readonly aborts: readonly Gate[]
  readonly slo: readonly SloGate[]
  readonly by: 'calls' | 'pods'
  readonly stages: readonly Stage[]
  /** The patterns of production names. */
  readonly production: ProductionCheck
}
