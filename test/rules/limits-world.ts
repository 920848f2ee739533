import { expect } from 'vitest'
import type { CallFacts } from '../../src/rules/match/call-facts.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { isUntouchable } from '../../src/rules/select/inactive-reason.ts'
import type { MatchedRule } from '../../src/rules/select/matched-rule.ts'
import { planCall, planHttp } from '../../src/rules/select/plan.ts'
import type { RuleLimits } from '../../src/rules/guard/rule-limits.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { binomialBounds } from './binomial.ts'
import { facts } from './facts.ts'
import { accepted } from './rules-text.ts'

/** When the rules of a world become active. */
export const START = Date.UTC(2026, 2, 1, 9)
/** The number of injections that may run ahead of the highest share. */
export const HEAD_START = 10

/** Effects that may not happen, whatever the file contains. */
export interface Strict extends RuleLimits {
  readonly maxPercent: number
  readonly maxActive: number
  readonly maxDuration: number
}

const SELF = { workload: 'shop', labels: { app: 'shop' } }
const SAME = {
  headers: Object.entries({
    'X-Same': '1',
    Baggage: 'tenant=canary',
    Traceparent: `00-${'a'.repeat(32)}-00f067aa0ba902b7-01`,
  }).flat(),
  session: 'session',
  client: { name: 'agent', version: '1.0.0' },
}
const ARGS = { city: 'here', n: 5 }

/** One of each kind of call. All of a kind look the same, so that they share every key. */
const CALLS: readonly CallFacts[] = [
  facts({ name: 'search', args: ARGS }, SAME),
  facts({ name: 'pay_invoice', args: ARGS }, SAME),
  facts({ method: 'tools/list', name: undefined }, SAME),
  facts({ method: 'prompts/get', name: 'greet' }, SAME),
  facts({ method: 'resources/read', name: 'file:///a' }, SAME),
  facts({ method: 'initialize', name: undefined }, SAME),
]

/** The result of a file. */
export interface Seen {
  readonly matched: number
  readonly hits: number
}

/**
 * Runs a file under limits for three seconds and once more a day later, and expects them to hold.
 */
export function expectHeld(text: string, limits: Strict, disarmed?: string): Seen {
  const ruleSet = compileRules(accepted(text), { ...limits, self: SELF })
  const states = new RuleStates(limits)
  let now = START
  states.adopt(ruleSet, now)
  if (disarmed !== undefined) states.disarm(disarmed)
  const times = new Map<string, number[]>()
  let active: MatchedRule[] = []
  const broken = new Set<string>()
  const meet = (hits: readonly MatchedRule[] | undefined, isDenied: boolean): void => {
    for (const hit of hits ?? []) {
      if (disarmed !== undefined) broken.add('disarmed')
      if (isDenied) broken.add('a denied tool')
      if (limits.dryRun === true && !hit.dryRun) broken.add('no shadow')
      for (const { fault } of hit.rule.uses) {
        if (limits.allowFaults?.includes(fault) === false) broken.add(`uses ${fault}`)
      }
      if (hit.begin()) {
        hit.applied()
        active.push(hit)
      } else if (!hit.dryRun) {
        continue
      }
      if (states.active.active !== active.length) broken.add('faults are not counted')
      if (active.length > limits.maxActive) broken.add('too many at a time')
      const known = times.get(hit.rule.name)
      if (known === undefined) times.set(hit.rule.name, [now])
      else known.push(now)
    }
  }
  for (const step of [...Array(30).keys(), 864_000]) {
    now = START + step * 100
    for (let i = 0; i < 10; i++) {
      for (const each of CALLS) {
        const isDenied = each.call.name?.startsWith('pay_') === true
        const { call, ...shared } = each
        const exchange = { ...shared, untouchable: isUntouchable(states, [call], false) }
        if (exchange.untouchable !== isDenied) broken.add('not known as denied')
        meet(planHttp(ruleSet, exchange, states, () => now)?.matched, isDenied)
        meet(planCall(ruleSet, each, states, () => now)?.matched, isDenied)
      }
    }
    for (const hit of active) hit.finish()
    active = []
  }
  expect([...broken]).toEqual([])
  let matched = 0
  let all = 0
  for (const rule of ruleSet.rules) {
    const state = states.of(rule)!
    const hits = times.get(rule.name) ?? []
    matched += state.counts.matched
    all += hits.length
    if (hits.length > 0) expect(hits.at(-1)! - hits[0]!).toBeLessThan(limits.maxDuration)
    expect(hits.length).toBeLessThanOrEqual(mostHits(state.ordinal, limits.maxPercent))
  }
  return { matched, hits: all }
}

/** More sampled calls than this of so many break the limit. */
export function mostHits(calls: number, maxPercent: number): number {
  const share = maxPercent / 100
  return Math.max(binomialBounds(calls, share, 1e-9)[1], calls * share + HEAD_START + 1)
}
