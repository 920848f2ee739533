import { sha256Of } from '#base'
import { parseWithPositions, type Policy, type Problem, type ProductionCheck } from '#rules'
import type { SidecarAdmin } from '#admin-api'
import type { Expectation } from '../load/expectation.ts'
import type { SloGate } from '../load/results/slo.ts'
import type { Gate } from './gate.ts'
import type { AlertSpec } from './monitor/alert-source.ts'
import type { SamplerSpec } from './monitor/samplers.ts'
import type { Victim } from './kill.ts'
import { type CallSpec, LOAD_DEFAULTS, type LoadResilience } from '../load/load-options.ts'
import type { PlanFile } from './plan-schema.ts'

type Kubernetes = NonNullable<PlanFile['sidecar']['kubernetes']>

/** A rule as written in the file, without defaults. */
export type WrittenRule = Readonly<Record<string, unknown>> & { readonly name: string }

/** Valid rules as written, without defaults. */
export interface RulesSource {
  readonly digest: string
  readonly seed: number | undefined
  readonly maxActive: number | undefined
  readonly enabled: boolean
  readonly rules: readonly WrittenRule[]
}

export function readRulesText(
  text: string,
): RulesSource | { readonly problems: readonly Problem[] } {
  const { parsed, document } = parseWithPositions(text)
  if (!parsed.ok) return { problems: parsed.problems }
  // The file is valid, so these have their types; `rules` may be null.
  const { seed, maxActive, rules } = (document?.value ?? {}) as Partial<RulesSource>
  const { enabled } = parsed.file
  return { digest: sha256Of(text), seed, maxActive, enabled, rules: rules ?? [] }
}

/** Converts the inline rules of a plan, which are valid because the plan is. */
export function inlineRules(rules: readonly WrittenRule[]): RulesSource {
  const digest = sha256Of(`${JSON.stringify({ version: 1, rules }, null, 2)}\n`)
  return { digest, seed: undefined, maxActive: undefined, enabled: true, rules }
}

export interface Stage {
  /** `10%`, `10% of pods`, `kill`, `exhaust`, or `blocked`. */
  readonly label: string
  /** In percent; undefined when no rule is armed. */
  readonly share: number | undefined
}

/** Returns the rule that blocks a dependency. */
export function blockingRules({
  outbound,
  blocked,
}: NonNullable<PlanFile['dependency']>): RulesSource {
  const faults = [{ connection: { [blocked]: true } }]
  return inlineRules([{ name: 'dependency-blocked', match: { outbound }, faults }])
}

/** A sidecar of this machine. All paths are absolute. */
export interface LocalSpec {
  readonly kind: 'local'
  readonly admin: SidecarAdmin
  readonly rulesFile: string
  readonly victim: Victim | undefined
}

/** Pods of a cluster. */
export interface PodsSpec extends Kubernetes {
  readonly kind: 'pods'
  /** The number of pods that each stage evicts, or deletes with `force`. */
  readonly kills: { readonly pod: number; readonly force: boolean } | undefined
  readonly expiryMs: number
}

/** A valid plan. */
export interface Plan {
  readonly file: PlanFile
  /** The digest of everything that determines the experiment, including the rules. */
  readonly digest: string
  /** Undefined when the plan only kills a process or holds sessions. */
  readonly rules: RulesSource | undefined
  readonly seed: number
  readonly target: URL
  readonly sidecar: LocalSpec | PodsSpec
  readonly calls: readonly CallSpec[]
  readonly expectations: readonly Expectation[]
  readonly steady: readonly Gate[]
  readonly aborts: readonly Gate[]
  readonly slo: readonly SloGate[]
  /** The sampled conditions of the steady state and of the abort conditions. */
  readonly samplers: readonly SamplerSpec[]
  /** The conditions that must pass at least once during the last stage. */
  readonly expected: readonly Gate[]
  /** The alerts that must fire. */
  readonly alerts: readonly AlertSpec[]
  readonly by: 'calls' | 'pods'
  readonly stages: readonly Stage[]
  /** The patterns of production names. */
  readonly production: ProductionCheck
  /** Undefined without a policy. */
  readonly policy: Policy | undefined
}

/** Returns the tools that a plan names; without any the load chooses. */
export function plannedTools({ file, calls }: Plan): readonly string[] {
  return [...(file.load.tools ?? []), ...calls.map(({ tool }) => tool)]
}

/** Returns how the load of a plan handles errors. */
export function resilienceOf(load: PlanFile['load']): LoadResilience {
  return {
    ...LOAD_DEFAULTS.resilience,
    timeoutMs: load.timeout,
    retries: load.retries,
    degrade: load.degrade,
    ...(load.retryBudget !== undefined && { retryBudget: load.retryBudget / 100 }),
    ...(load.deadline !== undefined && { deadlineMs: load.deadline }),
  }
}
