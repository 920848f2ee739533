import { describe, expect, it } from 'vitest'
import { explain } from '../../../src/rules/explain/explain.ts'
import { finishPlan } from '../../../src/rules/select/plan.ts'
import { Bench, facts } from '../facts.ts'

const one = (bench: Bench) => bench.plan()!.matched[0]!

describe('several rules', () => {
  it('all act in file order, and a lost draw of one masks no other', () => {
    const bench = new Bench([
      { name: 'a' },
      { name: 'b', percent: 0 },
      { name: 'c', match: { tool: 's*' } },
      { name: 'd', match: { tool: 'search' } },
    ])
    expect(bench.matched()).toEqual(['a', 'c', 'd'])
  })

  it('stop behind one that stops, but only when it is sampled', () => {
    const bench = new Bench([
      { name: 'a', match: { tool: 'search' }, stops: true, first: 1 },
      { name: 'b' },
    ])
    expect(bench.matched()).toEqual(['a'])
    expect(bench.matched()).toEqual(['b'])
    expect(bench.counts(1).matched).toBe(1)
  })

  it('are not stopped by one that is a mere shadow', () => {
    const shadow = [{ name: 'a', stops: true, dryRun: true }, { name: 'b' }]
    for (const dryRun of [false, true]) {
      const bench = new Bench(shadow, {}, {}, { dryRun })
      const { rules } = explain(bench.ruleSet, facts(), bench.now, bench.states)
      expect(rules.map(({ stoppedBy }) => stoppedBy)).toEqual([undefined, undefined])
      expect(bench.matched()).toEqual(['a', 'b'])
    }
    const all = new Bench([{ name: 'a', stops: true }, { name: 'b' }], {}, {}, { dryRun: true })
    expect(all.matched()).toEqual(['a'])
    expect(all.plan()!.dryRun).toBe(true)
  })
})

describe('a reload', () => {
  it('leaves a rule that did not change its counts, its order and its clock', () => {
    const bench = new Bench([{ name: 'a', first: 3, for: 100 }])
    expect(bench.callStates(2)).toBe('11')
    bench.now += 60
    bench.load([{ name: 'other' }, { name: 'a', for: 100, first: 3 }])
    expect(bench.matched()).toEqual(['other', 'a'])
    expect(bench.matched()).toEqual(['other'])
    expect(bench.counts(1)).toMatchObject({ matched: 4, sampled: 3, not_selected: 1 })
    bench.now += 50
    expect(bench.matched()).toEqual(['other'])
    expect(bench.counts(1).expired).toBe(1)
  })

  it('lets a rule that changed begin anew', () => {
    const bench = new Bench([{ name: 'a', first: 1, for: 100 }])
    expect(bench.callStates(2)).toBe('10')
    bench.now += 60
    bench.load([{ name: 'a', first: 2, for: 100 }])
    expect(bench.callStates(3)).toBe('110')
    bench.now += 60
    expect(bench.counts().matched).toBe(3)
    expect(bench.matched()).toEqual([])
    expect(bench.counts().expired).toBe(0)
  })

  it('wakes what waits for a rule that is gone, and only that', () => {
    const bench = new Bench([{ name: 'a' }, { name: 'b' }])
    const [a, b] = bench.plan()!.matched
    const [first, second] = [a!.state.faults.retired, b!.state.faults.retired]
    bench.load([{ name: 'b' }])
    expect([first.aborted, second.aborted]).toEqual([true, false])
    bench.load([{ name: 'b' }], { enabled: false })
    expect(second.aborted).toBe(true)
    expect(bench.matched()).toEqual([])
    expect(bench.counts().disarmed).toBe(1)
  })

  it('plans nothing by a file that is no longer active', () => {
    const bench = new Bench([{ name: 'a' }])
    const old = bench.rules[0]!
    bench.load([])
    expect(bench.states.of(old)).toBeUndefined()
  })

  it('counts faults of a rule that is gone towards the limit until they end', () => {
    const bench = new Bench([{ name: 'a' }], { maxActive: 1 })
    const [a] = bench.plan()!.matched
    expect(a!.begin()).toBe(true)
    bench.load([{ name: 'b' }], { maxActive: 1 })
    expect(bench.plan()!.matched[0]!.begin()).toBe(false)
    a!.end()
    expect(bench.states.active.active).toBe(0)
    expect(bench.plan()!.matched[0]!.begin()).toBe(true)
  })
})

describe('disarming', () => {
  it('keeps every rule from acting, wakes sleepers, and counts', () => {
    const bench = new Bench([{ first: 2 }])
    const { retired } = bench.plan()!.matched[0]!.state.faults
    bench.states.disarm('guard')
    expect(retired.aborted).toBe(true)
    expect(bench.states.disarmed).toBe('guard')
    expect(bench.callStates(3)).toBe('000')
    bench.states.arm()
    expect(bench.callStates(3)).toBe('100')
    expect(bench.counts()).toMatchObject({ matched: 7, disarmed: 3, sampled: 2 })
    expect(bench.plan()).toBeUndefined()
  })
})

describe('a sampled call', () => {
  it('is in progress while a fault acts, and no longer', () => {
    const bench = new Bench([{ maxActive: 1 }])
    const first = one(bench)
    const second = one(bench)
    expect(first.begin()).toBe(true)
    expect(first.begin()).toBe(true)
    first.end()
    expect(second.begin()).toBe(false)
    first.end()
    expect(bench.states.active.active).toBe(0)
    expect(one(bench).begin()).toBe(true)
    expect(bench.states.active.active).toBe(1)
  })

  it('that finds no room is counted once and does nothing more', () => {
    const bench = new Bench([{}], { maxActive: 1 })
    const first = one(bench)
    const second = one(bench)
    expect(first.begin()).toBe(true)
    expect([second.begin(), second.begin()]).toEqual([false, false])
    first.end()
    expect(second.begin()).toBe(false)
    second.notApplicable()
    second.finish()
    expect(bench.counts()).toMatchObject({
      concurrency_limit: 1,
      not_applicable: 0,
      not_reached: 0,
    })
  })

  it('that finds no room leaves its place among `times` to another', () => {
    const bench = new Bench([{ times: 2 }], { maxActive: 1 })
    const [first, second] = [one(bench), one(bench)]
    expect(bench.plan()).toBeUndefined()
    first.begin()
    second.begin()
    expect(bench.plan()).toBeDefined()
  })

  it('gives everything back when the call ends, however often that is reported', () => {
    const bench = new Bench([{}, {}], {}, {}, { maxActive: 5 })
    const plan = bench.plan()!
    for (const hit of plan.matched) {
      hit.begin()
      hit.begin()
      hit.applied()
      hit.applied()
    }
    expect(bench.states.active.active).toBe(2)
    finishPlan(plan)
    finishPlan(plan)
    for (const hit of plan.matched) hit.end()
    expect(bench.states.active.active).toBe(0)
    expect(bench.counts()).toMatchObject({ injected: 1, not_reached: 0 })
    expect(plan.matched[0]!.begin()).toBe(false)
  })

  it('says when nothing came of it', () => {
    const bench = new Bench([{}])
    one(bench).finish()
    const idle = one(bench)
    idle.notApplicable()
    idle.finish()
    expect(bench.counts()).toMatchObject({ not_reached: 1, not_applicable: 1, injected: 0 })
  })

  it('of a shadow does nothing and says so', () => {
    const bench = new Bench([{ dryRun: true }])
    const plan = bench.plan()!
    expect(plan.dryRun).toBe(true)
    expect(plan.matched[0]!.begin()).toBe(false)
    plan.matched[0]!.applied()
    finishPlan(plan)
    expect(bench.counts()).toMatchObject({ dry_run: 1, injected: 0, sampled: 1 })
  })

  it('is held to the lower of two limits', () => {
    const bench = new Bench([{}], { maxActive: 10 }, {}, { maxActive: 1 })
    expect([one(bench).begin(), one(bench).begin()]).toEqual([true, false])
  })

  it('does not come about for calls that no rule means', () => {
    expect(new Bench([{ match: { tool: 'x' } }]).plan(facts())).toBeUndefined()
    expect(new Bench([]).plan(facts())).toBeUndefined()
  })
})
