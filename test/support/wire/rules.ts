import type { FalsifiedVerdict } from '../../../src/agents/falsified-verdicts.ts'
import type {
  FaultListener,
  InjectedRecord,
  NotApplicableRecord,
} from '../../../src/listener/faults/exchange-context.ts'
import { type FalseUse, FalseValues } from '../../../src/listener/falsified/false-values.ts'
import type { Fault } from '../../../src/filters/fault.ts'
import type { Call } from '../../../src/mcp/call.ts'
import { Canaries } from '../../../src/listener/faults/session-control.ts'
import { ConnectionFaults } from '../../../src/listener/outbound/connection-faults.ts'
import { createPlanner } from '../../../src/listener/faults/fault-planner.ts'
import { Arming } from '../../../src/rules/guard/arming.ts'
import type { RuleCounts } from '../../../src/rules/select/rule-counts.ts'
import type { RuleFileSpec, RuleSpec } from '../../../src/rules/file/rule-spec.ts'
import { RuleIndex, type RuleSet } from '../../../src/rules/match/rule-set.ts'
import { RuleStates } from '../../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../../src/rules/watch/active-rules.ts'
import type { RulesFile } from '../../../src/rules/file/schema.ts'

/** Rules for a sidecar, and everything that their faults reported. */
export interface RuleStage {
  readonly rules: ActiveRules
  readonly listenerOf: () => FaultListener
  readonly createPlanner: typeof createPlanner
  readonly connections: ConnectionFaults
  readonly injected: InjectedRecord[]
  readonly notApplicable: NotApplicableRecord[]
  readonly broken: unknown[]
  readonly canaries: Canaries
  readonly falseValues: FalseValues
  /** The verdicts about results with false values, and the calls that used one. */
  readonly verdicts: FalsifiedVerdict[]
  readonly falseUses: (FalseUse & { readonly call: Call })[]
  /** The calls that contained a canary. */
  readonly canaryCalls: Call[]
  /** Other rules become active. */
  take(rules: readonly RuleSpec[]): void
  /** Returns the results of the calls that an active rule matched. */
  counts(index?: number): RuleCounts
  /** Faults that act now, over all rules. */
  readonly active: number
}

/** Options of a rule stage beside its rules. */
export interface RuleStageOptions {
  /** Keys of the file. */
  readonly file?: Omit<RuleFileSpec, 'rules'>
  /** In the place of the faults of every rule. */
  readonly faults?: readonly Fault[]
  /** Milliseconds since the epoch; the time of day by default. */
  readonly clock?: () => number
  /** Called when the effect of a fault is reported, which then takes as long. */
  readonly reported?: () => void
}

/** Activates rules, with a listener that records the reports of their faults. */
export function ruleStage(
  first: readonly RuleSpec[],
  { file: keys, faults, clock = Date.now, reported }: RuleStageOptions = {},
): RuleStage {
  const states = new RuleStates()
  const rules = new ActiveRules({ states, arming: new Arming(states, clock), limits: {}, clock })
  const injected: InjectedRecord[] = []
  const notApplicable: NotApplicableRecord[] = []
  const broken: unknown[] = []
  const canaryCalls: Call[] = []
  const verdicts: FalsifiedVerdict[] = []
  const falseUses: (FalseUse & { readonly call: Call })[] = []
  let versions = 0
  const take = (specs: readonly RuleSpec[]): void => {
    const file = {
      version: 1,
      enabled: true,
      seed: 7,
      ...keys,
      rules: specs,
    } as unknown as RulesFile
    rules.take({ kind: 'rules', digest: String(versions++), file })
  }
  take(first)
  const listener: FaultListener = {
    injected: (record) => {
      injected.push(record)
      reported?.()
    },
    notApplicable: (record) => void notApplicable.push(record),
    canaryReturned: (call) => void canaryCalls.push(call),
    falseValueUsed: (call, use) => void falseUses.push({ ...use, call }),
    failed: (_place, error) => void broken.push(error),
    effectsOn: (call) => injected.filter((record) => record.first && record.call === call),
  }
  return {
    rules,
    listenerOf: () => listener,
    connections: new ConnectionFaults(rules, listener, () => undefined),
    createPlanner:
      faults === undefined
        ? createPlanner
        : (parts, ...more) =>
            createPlanner({ ...parts, rules: withFaults(rules, faults) }, ...more),
    injected,
    notApplicable,
    broken,
    canaries: new Canaries(),
    falseValues: new FalseValues((_, verdict) => void verdicts.push(verdict)),
    verdicts,
    falseUses,
    canaryCalls,
    take,
    counts: (index = 0) => states.of(rules.ruleSet.rules[index]!)!.counts,
    get active() {
      return states.active.active
    },
  }
}

/** The same rules with other faults: such as no file can ask for. */
function withFaults(rules: ActiveRules, faults: readonly Fault[]): ActiveRules {
  let seen: RuleSet | undefined
  let replaced: RuleSet | undefined
  const ruleSet = (): RuleSet => {
    if (replaced !== undefined && seen === rules.ruleSet) return replaced
    seen = rules.ruleSet
    const own = seen.rules.map((rule) => ({
      ...rule,
      faults,
      uses: faults.map(() => rule.uses[0]!),
    }))
    return (replaced = { ...seen, rules: own, index: new RuleIndex(own) })
  }
  const { states, clock } = rules
  return {
    states,
    clock,
    get ruleSet() {
      return ruleSet()
    },
  } as ActiveRules
}
