import type { Rule, Snapshot } from './read-snapshot.ts'

/** A rule in all sidecars that have it. */
export interface CombinedRule {
  readonly name: string
  readonly faults: readonly string[]
  readonly builtIn: boolean
  readonly dryRun: boolean
  /** The state in all sidecars that have the rule; `mixed` when they differ. */
  readonly state: RuleState | 'mixed'
  /** In how many sidecars it is on. */
  readonly on: number
  /** The number of sidecars that have the rule. */
  readonly of: number
  readonly matched: number
  readonly sampled: number
  readonly applied: number
  readonly active: number
}

/** The state of a rule in one sidecar. */
export type RuleState = 'on' | 'disarmed' | 'dry_run' | 'not_yet' | 'expired' | 'other_pod'

interface Seen {
  readonly rule: Rule
  readonly state: RuleState
}

/** The rules of all sidecars in the order of their files; equal ones are one. */
export function combineRules(snapshots: readonly Snapshot[]): readonly CombinedRule[] {
  const seen = new Map<string, Seen[]>()
  for (const snapshot of snapshots) {
    for (const rule of snapshot.rules) {
      const key = JSON.stringify([rule.builtIn, rule.name, rule.faults])
      const known = seen.get(key)
      const one = { rule, state: stateOf(rule, snapshot) }
      if (known === undefined) seen.set(key, [one])
      else known.push(one)
    }
  }
  return [...seen.values()].map(combineOne)
}

function stateOf({ phase, dryRun }: Rule, { armed, dryRun: allDryRun }: Snapshot): RuleState {
  if (phase !== 'on') return phase
  if (!armed) return 'disarmed'
  return dryRun || allDryRun ? 'dry_run' : 'on'
}

function combineOne(all: readonly Seen[]): CombinedRule {
  const [{ rule, state }] = all as readonly [Seen]
  const sum = (of: (rule: Rule) => number): number =>
    all.reduce((total, each) => total + of(each.rule), 0)
  return {
    name: rule.name,
    faults: rule.faults,
    builtIn: rule.builtIn,
    dryRun: all.some((each) => each.rule.dryRun),
    state: all.every((each) => each.state === state) ? state : 'mixed',
    on: all.filter((each) => each.state === 'on').length,
    of: all.length,
    matched: sum(({ matched }) => matched),
    sampled: sum(({ sampled }) => sampled),
    applied: sum(({ applied }) => applied),
    active: sum(({ active }) => active),
  }
}
