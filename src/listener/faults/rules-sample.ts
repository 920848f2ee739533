import type { DisarmedBy } from '../../rules/guard/arming.ts'
import { unanchoredRules } from '../../rules/match/rule-set.ts'
import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { RulesSample } from '../../telemetry/rules-sample.ts'

/** The parties that may disarm, and `file` for `enabled: false` in the rules. */
const NOBODY: Readonly<Record<DisarmedBy | 'file', boolean>> = {
  environment: false,
  operator: false,
  guard: false,
  'rollback-on': false,
  stopped: false,
  draining: false,
  file: false,
}

/** Samples the active rules for metrics. */
export function sampleRules(rules: ActiveRules, ignoredHeaders?: number): RulesSample {
  const { states, arming, ruleSet, current, last } = rules
  const { reasons } = arming
  const disarmed = { ...NOBODY, file: !ruleSet.enabled }
  for (const { by } of reasons) disarmed[by] = true
  return {
    clock: rules.clock(),
    ignoredHeaders,
    rules: states.totals.all(),
    unanchored: unanchoredRules(ruleSet).length,
    armed: reasons.length === 0 && ruleSet.enabled,
    disarmed,
    version: current && {
      digest: current.version.digest,
      generation: current.generation,
      seed: ruleSet.seed,
    },
    lastReload: last && { applied: last.version.kind !== 'rejected', at: last.at / 1000 },
  }
}
