import { describe, expect, it } from 'vitest'
import { Arming } from '../../src/rules/guard/arming.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { planCall } from '../../src/rules/select/plan.ts'
import type { PodSelf } from '../../src/rules/match/pod-match.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { facts } from './facts.ts'
import { accepted } from './rules-text.ts'

const SHOP: PodSelf = { workload: 'shop', labels: { app: 'shop', tier: 'front' } }
const BANK: PodSelf = { workload: 'bank', labels: { app: 'bank' } }

const rulesOf = (match: string): string =>
  `rules: [{ name: a, match: ${match}, faults: [{ abort: { status: 503 } }] }]`

/** Counts the calls, of ten in a pod, on which a rule with a match acts. */
function hitsIn(self: PodSelf | undefined, match: string): number {
  const ruleSet = compileRules(accepted(rulesOf(match)), self === undefined ? {} : { self })
  const states = new RuleStates()
  states.adopt(ruleSet, 0)
  let matches = 0
  for (let i = 0; i < 10; i++) {
    matches += planCall(ruleSet, facts({ name: 'search' }), states, () => 0)?.matched.length ?? 0
  }
  return matches
}

describe('a rule about certain pods', () => {
  it.each([
    ['{ podLabels: { app: shop } }', 10, 0],
    ['{ podLabels: { app: shop, tier: front } }', 10, 0],
    ['{ podLabels: { app: shop, tier: back } }', 0, 0],
    ['{ podLabels: { app: shop }, tool: search }', 10, 0],
    ['{ podLabels: { app: shop }, tool: other }', 0, 0],
    ['{ workload: shop }', 10, 0],
    ['{ workload: "s*" }', 10, 0],
    ['{ workload: [bank, shop] }', 10, 10],
    ['{ workload: { not: shop } }', 0, 10],
    ['{ not: { podLabels: { app: shop } } }', 0, 10],
    ['{ any: [{ podLabels: { app: shop } }, { tool: other }] }', 10, 0],
    ['{ all: [{ workload: shop }, { tool: search }] }', 10, 0],
    ['{ tool: search, not: { workload: shop, tool: search } }', 0, 10],
  ])('%s acts where it fits and nowhere else', (match, inShop, inBank) => {
    expect(hitsIn(SHOP, match)).toBe(inShop)
    expect(hitsIn(BANK, match)).toBe(inBank)
    // Outside a pod, also where it says `not`, and where the labels alone are not known.
    expect(hitsIn(undefined, match)).toBe(0)
  })

  it('is evaluated for no call where it does not fit: the index does not lead to it', () => {
    const ruleSet = compileRules(accepted(rulesOf('{ podLabels: { app: shop } }')), { self: BANK })
    expect(ruleSet.index.of(facts({ name: 'search' }).call).forMethod('tools/call')).toBeUndefined()
    const here = compileRules(accepted(rulesOf('{ podLabels: { app: shop } }')), { self: SHOP })
    expect(here.rules[0]!.rest).toEqual([])
  })

  it('says in an explanation what it wants of the pod and what the pod has', () => {
    const failing = (self: PodSelf | undefined): unknown => {
      const file = accepted(rulesOf('{ podLabels: { app: shop }, workload: shop }'))
      const ruleSet = compileRules(file, self === undefined ? {} : { self })
      return explain(ruleSet, facts(), 0).rules[0]!.failing
    }
    expect(failing(SHOP)).toEqual([])
    expect(failing(BANK)).toEqual([
      { dimension: 'workload', wants: 'shop', found: 'bank' },
      { dimension: 'podLabels.app', wants: '"shop"', found: 'bank' },
    ])
    expect(failing(undefined)).toMatchObject([
      { dimension: 'workload', found: expect.stringContaining('unknown: ') },
      { dimension: 'podLabels.app', found: expect.stringContaining('unknown: ') },
    ])
  })

  it.each([
    ['podLabels: { app: [a, b] }', 'rules[0].match.podLabels.app', /a string/],
    ['podLabels: { app: "sh*" }', 'rules[0].match.podLabels.app', /workload/],
    ['podLabels: { "app name": a }', 'rules[0].match.podLabels', /must be a label key/],
    ['podLabel: { app: a }', 'rules[0].match.podLabel', /did you mean `podLabels`/],
    ['workloads: a', 'rules[0].match.workloads', /did you mean `workload`/],
  ])('is refused with its line when it says %s', (match, path, words) => {
    const text = `rules:\n  - name: a\n    match:\n      ${match}\n    faults: [hang]\n`
    const parsed = parseRules(text)
    expect(parsed.ok).toBe(false)
    const [problem] = parsed.ok ? [] : parsed.problems
    expect(problem?.line).toBe(4)
    expect(problem?.path).toContain(path)
    expect(`${problem?.message} ${problem?.hint ?? ''} ${problem?.found ?? ''}`).toMatch(words)
  })
})

describe('labels of the pod that change', () => {
  const world = (): ActiveRules => {
    const states = new RuleStates()
    const clock = (): number => 0
    const arming = new Arming(states, clock)
    return new ActiveRules({ states, arming, limits: { self: BANK }, clock })
  }
  const take = (rules: ActiveRules, text: string, digest = 'a'): void =>
    rules.take({ kind: 'rules', digest, file: accepted(text) })

  it('count from then on, and rules keep what they remember', () => {
    const rules = world()
    take(rules, rulesOf('{ podLabels: { app: shop } }'))
    const matches = (): number =>
      planCall(rules.ruleSet, facts(), rules.states, rules.clock)?.matched.length ?? 0
    expect(matches()).toBe(0)
    rules.identify(SHOP)
    expect(matches()).toBe(1)
    expect(matches()).toBe(1)
    rules.identify(BANK)
    expect(matches()).toBe(0)
    rules.identify(SHOP)
    expect(matches()).toBe(1)
    expect(rules.states.of(rules.ruleSet.rules[0]!)?.counts.sampled).toBe(3)
    rules.identify({ workload: 'shop' })
    expect(matches()).toBe(0)
  })

  it('wake what a rule holds back', () => {
    const rules = world()
    rules.identify(SHOP)
    take(rules, rulesOf('{ podLabels: { app: shop } }'))
    const { retired } = rules.states.of(rules.ruleSet.rules[0]!)!.faults
    rules.identify(BANK)
    expect(retired.aborted).toBe(true)
  })

  it('compile nothing anew where no rule asks for them', () => {
    const rules = world()
    take(rules, 'rules: [{ name: a, faults: [hang] }]')
    const before = rules.ruleSet
    rules.identify(SHOP)
    expect(rules.ruleSet).toBe(before)
  })
})
