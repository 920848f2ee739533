import { describe, expect, it } from 'vitest'
import { SampleHash } from '../../../src/rules/select/sample-hash.ts'
import { withHeaderFaults } from '../../../src/rules/select/header-faults.ts'
import { finishPlan } from '../../../src/rules/select/plan.ts'
import { RESULTS } from '../../../src/rules/select/rule-counts.ts'
import { expectShare } from '../binomial.ts'
import { facts } from '../facts.ts'
import { abort, Counter, delay, type Headers } from '../header-counter.ts'

describe('what a caller gets', () => {
  it('is no more than the shorter of five minutes and the longest time of rules', () => {
    expect(new Counter().uses({ 'x-squall-delay': '1h' })).toEqual([delay(300_000)])
    const short = new Counter({ maxDuration: 5000 })
    expect(short.uses({ 'x-squall-delay': '1h' })).toEqual([delay(5000, 5000)])
  })

  it.each([
    [{ 'x-squall-percent': '30' }, {}, 100, 0.3],
    [{}, {}, 30, 0.3],
    [{ 'x-squall-percent': '90' }, {}, 30, 0.3],
    [{ 'x-squall-percent': '90' }, { maxPercent: 20 }, 30, 0.2],
    [{}, { maxPercent: 0 }, 100, 0],
  ] as const)('is its share: %o under %o and %d', (headers, limits, maxPercent, share) => {
    const counter = new Counter(limits, maxPercent)
    let matches = 0
    for (let i = 0; i < 4000; i++) {
      if (counter.plan({ 'x-squall-abort': '503', ...headers }) !== undefined) matches++
    }
    expectShare(matches, 4000, share)
  })

  it('is sampled as a rule is, once for both faults', () => {
    const counter = new Counter()
    const headers = {
      'x-envoy-fault-delay-request': '5',
      'x-envoy-fault-delay-request-percentage': '60',
      'x-envoy-fault-abort-request': '503',
      'x-envoy-fault-abort-request-percentage': '30',
    }
    for (let i = 1; i <= 500; i++) {
      const sample = SampleHash.of('42', 'header-faults').number(String(i))
      const expected = sample < 0.3 ? [delay(5), abort(503)] : sample < 0.6 ? [delay(5)] : []
      expect(counter.uses(headers)).toEqual(expected)
    }
  })

  it('is a response without a delay where the delay was asked for less often', () => {
    const counter = new Counter()
    const headers = {
      'x-squall-delay': '5ms',
      'x-envoy-fault-delay-request-percentage': '0',
      'x-squall-abort': '503',
    }
    expect(counter.uses(headers)).toEqual([abort(503)])
  })

  it('follows the seed of the file', () => {
    const callStates = (seed: number): boolean[] => {
      const counter = new Counter()
      counter.bench.load([], { seed })
      const half = { 'x-squall-abort': '503', 'x-squall-percent': '50' }
      return Array.from({ length: 64 }, () => counter.plan(half) !== undefined)
    }
    expect(callStates(1)).toEqual(callStates(1))
    expect(callStates(0)).not.toEqual(callStates(1))
  })

  it('is nothing for handshakes, and something for every other call', () => {
    const counter = new Counter()
    const headers = { 'x-squall-abort': '503' }
    for (const method of ['initialize', 'ping', 'server/discover']) {
      expect(counter.plan(headers, { method })).toBeUndefined()
    }
    expect(counter.counts.matched).toBe(0)
    for (const method of ['tools/call', 'tools/list', 'resources/read', 'x/y']) {
      expect(counter.plan(headers, { method })?.matched).toHaveLength(1)
    }
  })

  it('comes before what the file has for the call', () => {
    const counter = new Counter({}, 100, [{ name: 'a', stops: true }, { name: 'b' }])
    const names = (headers: Headers) => counter.plan(headers)?.matched.map(({ rule }) => rule.name)
    expect(names({ 'x-squall-delay': '1s' })).toEqual(['header-faults', 'a'])
    expect(names({})).toEqual(['a'])
    expect(withHeaderFaults(undefined, undefined)).toBeUndefined()
  })
})

describe('the limits', () => {
  const ASKS = { 'x-squall-delay': '1s', 'x-squall-abort': '503' }

  it('forbid what rules are forbidden', () => {
    const counter = new Counter({ allowFaults: ['delay'], denyTools: ['pay_*'] })
    expect(counter.uses({ 'x-squall-delay': '1s' })).toEqual([delay(1000)])
    expect(counter.uses(ASKS)).toEqual([])
    expect(counter.uses({ 'x-squall-abort': '503' })).toEqual([])
    expect(counter.plan({ 'x-squall-delay': '1s' }, { name: 'pay_invoice' })).toBeUndefined()
    const beside = facts({}, { headers: ['x-squall-delay', '1s'], untouchable: true })
    expect(counter.faults.plan(counter.bench.ruleSet, beside, () => 0)).toBeUndefined()
    expect(counter.counts).toMatchObject({ matched: 5, forbidden: 4, sampled: 1 })
  })

  it('are kept while disarmed, and by a file that says so', () => {
    const counter = new Counter()
    counter.bench.states.disarm('guard')
    expect(counter.plan(ASKS)).toBeUndefined()
    counter.bench.states.arm()
    counter.bench.load([], { enabled: false })
    expect(counter.plan(ASKS)).toBeUndefined()
    counter.bench.load([])
    expect(counter.plan(ASKS)).toBeDefined()
    expect(counter.counts).toMatchObject({ matched: 3, disarmed: 2, sampled: 1 })
  })

  it('make a shadow of it where everything is one', () => {
    const counter = new Counter({ dryRun: true })
    const plan = counter.plan(ASKS)!
    expect(plan.dryRun).toBe(true)
    expect(plan.matched[0]!.begin()).toBe(false)
    expect(counter.counts.dry_run).toBe(1)
    const mixed = new Counter({}, 100, [{ name: 'a', dryRun: true }])
    expect(mixed.plan(ASKS)!.dryRun).toBe(false)
    expect(mixed.plan({})!.dryRun).toBe(true)
  })

  it('of faults in progress hold for it alone, for all rules, and without a file', () => {
    for (const [limits, most] of [
      [{}, 100],
      [{ maxActive: 3 }, 3],
    ] as const) {
      const counter = new Counter(limits)
      const begun = Array.from({ length: 150 }, () => counter.plan(ASKS)!.matched[0]!.begin())
      expect(begun.filter(Boolean)).toHaveLength(most)
      expect(counter.bench.states.active.active).toBe(most)
      expect(counter.counts.concurrency_limit).toBe(150 - most)
    }
    const shared = new Counter({ maxActive: 2 }, 100, [{ name: 'a' }])
    const plan = shared.plan(ASKS)!
    expect(plan.matched.map((hit) => hit.begin())).toEqual([true, true])
    expect(shared.plan(ASKS)!.matched[0]!.begin()).toBe(false)
  })

  it('count each call once, and show it among the totals of rules', () => {
    const counter = new Counter({ allowFaults: ['abort'] }, 50)
    for (let i = 0; i < 200; i++) {
      const plan = counter.plan(i % 4 === 0 ? ASKS : { 'x-squall-abort': '503' })
      if (plan !== undefined && plan.matched[0]!.begin() && i % 3 > 0) plan.matched[0]!.applied()
      if (plan !== undefined) finishPlan(plan)
    }
    const { counts } = counter
    expect(RESULTS.reduce((sum, result) => sum + counts[result], 0)).toBe(counts.matched)
    counter.bench.load([{ name: 'a' }])
    const { totals } = counter.bench.states
    expect(totals.labelOf('header-faults')).toBe('header-faults')
    expect(totals.all().map(({ name }) => name)).toEqual(['header-faults', 'a'])
    expect(totals.all()[0]).toMatchObject({ counts, isActive: true })
  })
})

describe('what waits because a caller asked for it', () => {
  it('wakes when everything is disarmed, and when the file says that nothing is enabled', () => {
    for (const disarm of [
      ({ bench }: Counter) => bench.states.disarm('guard'),
      ({ bench }: Counter) => bench.load([], { enabled: false }),
    ]) {
      const counter = new Counter()
      const { retired } = counter.plan({ 'x-squall-delay': '5m' })!.matched[0]!.state.faults
      counter.bench.load([{ name: 'other' }])
      expect(retired.aborted).toBe(false)
      disarm(counter)
      expect(retired.aborted).toBe(true)
    }
  })
})
