import type { SidecarAdmin } from '../../admin/api-client.ts'
import type { CallSpec } from '../load/load-options.ts'
import type { Expectation } from '../load/expectation.ts'
import type { SloGate } from '../load/results/slo.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import type { Gate } from './gate.ts'
import type { PlanFile } from './plan-schema.ts'
import type { RulesSource } from './rules-source.ts'

/** The width of one stage. */
export interface Stage {
  /** `10%`, `10% of pods`, or `kill`. */
  readonly label: string
  /** In percent; undefined where no rule is armed. */
  readonly share: number | undefined
}

/** A plan that was read and found good: everything that an experiment needs to know. */
export interface Plan {
  readonly file: PlanFile
  /** The digest of everything that decides what is done, the rules included. */
  readonly digest: string
  /** Undefined when only a process is killed. */
  readonly rules: RulesSource | undefined
  readonly seed: number
  readonly target: URL
  readonly admin: SidecarAdmin
  /** The paths below are absolute. */
  readonly rulesFile: string
  readonly pidFile: string | undefined
  readonly calls: readonly CallSpec[]
  readonly expectations: readonly Expectation[]
  readonly steady: readonly Gate[]
  readonly aborts: readonly Gate[]
  readonly slo: readonly SloGate[]
  readonly by: 'calls' | 'pods'
  readonly stages: readonly Stage[]
  /** Which names mean production. */
  readonly production: ProductionCheck
}
