import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MatchedRule } from '../../../src/rules/select/matched-rule.ts'
import { finishPlan } from '../../../src/rules/select/plan.ts'
import { RESULTS } from '../../../src/rules/select/rule-counts.ts'
import { RuleState } from '../../../src/rules/select/rule-state.ts'
import { type RuleTotal, RuleTotals } from '../../../src/rules/select/rule-totals.ts'
import { compileRules } from '../../../src/rules/match/compile.ts'
import { Bench, rule } from '../facts.ts'

function byName(totals: readonly RuleTotal[]): ReadonlyMap<string, RuleTotal> {
  expect(new Set(totals.map(({ name }) => name)).size).toBe(totals.length)
  return new Map(totals.map((total) => [total.name, total]))
}

function state(matched: number, applied = matched): RuleState {
  const made = new RuleState(compileRules({ rules: [rule({})] }).rules[0]!.selection, 0)
  made.counts.matched = matched
  made.counts.injected = applied
  return made
}

describe('totals of rules', () => {
  it('go on counting where a rule was changed, taken back or written again', () => {
    const bench = new Bench([{ name: 'a' }, { name: 'b', percent: 0 }])
    const total = (name: string) => byName(bench.states.totals.all()).get(name)!
    for (let i = 0; i < 3; i++) finishPlan(bench.plan()!)
    bench.load([{ name: 'a', percent: 0 }])
    for (let i = 0; i < 2; i++) bench.plan()
    expect(total('a')).toMatchObject({
      isActive: true,
      counts: { matched: 5, sampled: 3, not_reached: 3, not_sampled: 2 },
    })
    expect(total('b')).toMatchObject({ isActive: false, counts: { matched: 3, not_sampled: 3 } })
    bench.load([{ name: 'b', percent: 0 }])
    bench.plan()
    expect(total('b')).toMatchObject({ isActive: true, counts: { matched: 4, not_sampled: 4 } })
    expect(total('a')).toMatchObject({ isActive: false, counts: { matched: 5 } })
  })

  it('know the results of calls that were matched before the reload', () => {
    const bench = new Bench([{ name: 'a' }])
    const [hit] = bench.plan()!.matched
    hit!.begin()
    bench.load([])
    const total = () => byName(bench.states.totals.all()).get('a')!
    expect(total()).toMatchObject({
      active: 1,
      isActive: false,
      counts: { matched: 1, injected: 0 },
    })
    bench.load([{ name: 'a', percent: 50 }])
    bench.load([])
    hit!.applied()
    hit!.finish()
    expect(total()).toMatchObject({ active: 0, counts: { matched: 1, injected: 1 } })
    expect(total()).toMatchObject({ active: 0, counts: { matched: 1, injected: 1 } })
  })

  it('keep half of the names for rules of the file', () => {
    const totals = new RuleTotals(4)
    for (const name of ['a', 'b', 'c']) totals.adopt([{ name, state: state(1), temporary: true }])
    totals.adopt(['file', 'other-file'].map((name) => ({ name, state: state(1) })))
    const labels = ['a', 'b', 'c', 'file', 'other-file'].map((name) => totals.labelOf(name))
    expect(labels).toEqual(['a', 'b', 'other', 'file', 'other-file'])
    expect(byName(totals.all()).get('other')).toMatchObject({ counts: { matched: 1 } })
  })

  it('never go back, whatever calls and reloads do, and miss nothing', () => {
    const spec = fc.record(
      {
        name: fc.constantFrom('a', 'b', 'c'),
        percent: fc.constantFrom(0, 50, 100),
        maxActive: fc.constantFrom(1, 2),
        times: fc.constantFrom(1, 5),
      },
      { requiredKeys: ['name'] },
    )
    const rules = fc.uniqueArray(spec, { selector: ({ name }) => name, maxLength: 3 })
    const step = fc.oneof(
      fc.record({ load: rules }),
      fc.constant('call' as const),
      fc.constant('act' as const),
      fc.constant('finish' as const),
      fc.constant('show' as const),
    )
    fc.assert(
      fc.property(rules, fc.array(step, { maxLength: 80 }), (first, steps) => {
        const bench = new Bench(first)
        const open: MatchedRule[] = []
        const matched = new Map<string, number>()
        let before = byName(bench.states.totals.all())
        const show = (): void => {
          const now = byName(bench.states.totals.all())
          for (const [name, { counts }] of before) {
            for (const [key, value] of Object.entries(counts)) {
              expect(now.get(name)!.counts[key as 'matched']).toBeGreaterThanOrEqual(value)
            }
          }
          before = now
        }
        for (const each of steps) {
          if (typeof each === 'object') bench.load(each.load)
          else if (each === 'show') show()
          else if (each === 'finish') open.shift()?.finish()
          else if (each === 'act') {
            const hit = open[0]
            if (hit?.begin() === true) hit.applied()
          } else {
            for (const { name } of bench.rules) matched.set(name, (matched.get(name) ?? 0) + 1)
            open.push(...(bench.plan()?.matched ?? []))
          }
        }
        show()
        for (const hit of open) hit.finish()
        show()
        for (const [name, { counts, active }] of before) {
          expect(counts.matched).toBe(matched.get(name) ?? 0)
          expect(RESULTS.reduce((sum, result) => sum + counts[result], 0)).toBe(counts.matched)
          expect(active).toBe(0)
        }
      }),
    )
  })
})

describe('a rule that stands in no file', () => {
  it('is active across all reloads', () => {
    const bench = new Bench([{ name: 'a' }])
    const own = compileRules({ rules: [rule({ name: 'asked' })] }).rules[0]!
    const kept = bench.states.keep({ ...own, index: -1, digest: 'asked' }, bench.now)
    kept.counts.matched += 2
    bench.load([])
    bench.load([{ name: 'asked', percent: 0 }])
    bench.plan()
    const total = byName(bench.states.totals.all()).get('asked')!
    expect(total).toMatchObject({ isActive: true, counts: { matched: 3, not_sampled: 1 } })
    bench.load([])
    expect(byName(bench.states.totals.all()).get('asked')).toMatchObject({
      isActive: true,
      counts: { matched: 3 },
    })
    expect(bench.states.totals.labelOf('asked')).toBe('asked')
  })
})

describe('the bounds of totals', () => {
  it('count the rules beyond the first names as one', () => {
    const totals = new RuleTotals(2)
    const names = ['a', 'b', 'c', 'd']
    totals.adopt(names.map((name, i) => ({ name, state: state(i + 1) })))
    expect(names.map((name) => totals.labelOf(name))).toEqual(['a', 'b', 'other', 'other'])
    const shown = () => totals.all().map(({ name, counts }) => [name, counts.matched])
    expect(shown()).toEqual([
      ['a', 1],
      ['b', 2],
      ['other', 7],
    ])
    totals.adopt([])
    totals.adopt([{ name: 'e', state: state(10) }])
    expect(shown()).toEqual([
      ['a', 1],
      ['b', 2],
      ['other', 17],
    ])
  })

  it('let a rule be called as those beyond them are', () => {
    const totals = new RuleTotals(1)
    totals.adopt([
      { name: 'other', state: state(1) },
      { name: 'x', state: state(2) },
    ])
    expect(totals.all().map(({ name, counts }) => [name, counts.matched])).toEqual([['other', 3]])
  })

  it('keep few states of rules that are gone, also when their calls never end', () => {
    const totals = new RuleTotals(10, 3)
    const states = Array.from({ length: 20 }, () => state(2, 1))
    for (const each of states) totals.adopt([{ name: 'a', state: each }])
    const counts = () => totals.all()[0]!.counts
    expect(counts()).toMatchObject({ matched: 40, injected: 20 })
    // The last one is active, and three before it are still followed.
    for (const each of states) each.counts.injected++
    expect(counts()).toMatchObject({ matched: 40, injected: 24 })
  })
})
