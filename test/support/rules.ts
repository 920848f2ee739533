import type {
  FaultListener,
  InjectedRecord,
  NotApplicableRecord,
} from '../../src/listener/faults/fault-events.ts'
import { createPlanner } from '../../src/listener/faults/create-planner.ts'
import { Arming } from '../../src/rules/guard/arming.ts'
import type { RuleCounts } from '../../src/rules/select/rule-counts.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { RulesInForce } from '../../src/rules/watch/active-rules.ts'
import type { RulesFile } from '../../src/rules/file/schema.ts'

/** Rules for a sidecar, and everything that their faults told. */
export interface RuleStage {
  readonly rules: RulesInForce
  readonly listenerOf: () => FaultListener
  readonly createPlanner: typeof createPlanner
  readonly injected: InjectedRecord[]
  readonly notApplicable: NotApplicableRecord[]
  readonly broken: unknown[]
  /** Other rules come into force. */
  take(rules: readonly RuleSpec[]): void
  /** What became of the calls that a rule in force matched. */
  counts(index?: number): RuleCounts
  /** Faults that act now, over all rules. */
  readonly active: number
}

/** Brings rules into force, with a listener that keeps what it is told. */
export function ruleStage(first: readonly RuleSpec[]): RuleStage {
  const clock = (): number => Date.now()
  const states = new RuleStates()
  const rules = new RulesInForce({ states, arming: new Arming(states, clock), limits: {}, clock })
  const injected: InjectedRecord[] = []
  const notApplicable: NotApplicableRecord[] = []
  const broken: unknown[] = []
  let versions = 0
  const take = (specs: readonly RuleSpec[]): void => {
    const file = { version: 1, enabled: true, seed: 7, rules: specs } as unknown as RulesFile
    rules.take({ kind: 'rules', digest: String(versions++), file })
  }
  take(first)
  const listener: FaultListener = {
    injected: (record) => void injected.push(record),
    notApplicable: (record) => void notApplicable.push(record),
    broke: (_place, error) => void broken.push(error),
  }
  return {
    rules,
    listenerOf: () => listener,
    createPlanner,
    injected,
    notApplicable,
    broken,
    take,
    counts: (index = 0) => states.of(rules.ruleSet.rules[index]!)!.counts,
    get active() {
      return states.active.active
    },
  }
}
