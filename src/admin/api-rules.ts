import type { CompiledRule } from '../rules/match/compiled-rule.ts'
import type { RuleState } from '../rules/select/rule-state.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import { shareAt, windowEnd, windowStart } from '../rules/select/selection.ts'
import type { Rule, Rules } from './api.ts'
import { isoTime } from './api-time.ts'

// A file may hold more rules; the count shows how many are left out.
const MAX_RULES = 1_000

/** Configures how rules are shown. */
export interface RulesShown {
  /** Leaves out what never came about: most of it, most of the time. */
  readonly withoutZeros?: boolean
}

/** The active rules, those of the file in its order, each with what became of its calls, as JSON. */
export function showRules(
  { states, ruleSet, current, clock }: ActiveRules,
  { withoutZeros = false }: RulesShown = {},
): Rules {
  const now = clock()
  const shown = [...states.builtIn, ...ruleSet.rules.slice(0, MAX_RULES)]
  const rules = shown.flatMap((rule) => {
    const state = states.of(rule)
    return state === undefined
      ? []
      : [{ ...showRule(rule, state, now), counts: shownCounts(state, withoutZeros) }]
  })
  return {
    generation: current?.generation ?? 0,
    digest: current?.version.digest ?? null,
    count: ruleSet.rules.length,
    rules,
  }
}

function showRule(rule: CompiledRule, state: RuleState, now: number): Omit<Rule, 'counts'> {
  const { selection } = rule
  const { since, appliedAt, counts, active } = state
  const start = windowStart(selection, since)
  const end = windowEnd(selection, since)
  // A rule that stands in no file: what it does is asked for by each call.
  const builtIn = rule.index < 0
  const percent = Math.round(shareAt(selection, now - start) * 1e6) / 1e4
  return {
    name: rule.name,
    faults: rule.uses.map(({ fault }) => fault),
    about: rule.isHttp ? 'http' : 'calls',
    ...(builtIn ? { builtIn } : {}),
    ...(rule.dryRun ? { dryRun: true } : {}),
    since: isoTime(since),
    appliedAt: isoTime(appliedAt),
    from: isoTime(start),
    until: isoTime(end),
    phase: !selection.inPod ? 'other_pod' : now < start ? 'not_yet' : now >= end ? 'expired' : 'on',
    percent: builtIn ? null : percent,
    sampled: counts.sampled,
    active: active.active,
  }
}

function shownCounts({ counts }: RuleState, withoutZeros: boolean): Rule['counts'] {
  if (!withoutZeros) return { ...counts }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
