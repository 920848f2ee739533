import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RESULTS } from '../../src/rules/select/rule-counts.ts'
import { expectShare } from './binomial.ts'
import { Bench, facts } from './facts.ts'
import { rounds } from '../support/rounds.ts'

const session = (i: number) => facts({}, { session: `session-${i}` })

/** Counts the rules that inject at each of these milliseconds after the start. */
function at(bench: Bench, offsets: readonly number[]): number[] {
  const start = bench.now
  return offsets.map((offset) => {
    bench.now = start + offset
    return bench.matched().length
  })
}

function isIn(pods: number, pod: string | undefined): boolean {
  return new Bench([{ pods }], {}, { pod }).matched().length === 1
}

describe('time', () => {
  it('bounds a rule by from, until and for', () => {
    const t = 1_000_000
    expect(at(new Bench([{ from: t + 10, until: t + 20 }]), [0, 9, 10, 19, 20, 99])).toEqual([
      0, 0, 1, 1, 0, 0,
    ])
    expect(at(new Bench([{ for: 10 }]), [0, 9, 10, 11])).toEqual([1, 1, 0, 0])
    expect(at(new Bench([{ from: t + 5, for: 10 }]), [4, 5, 14, 15])).toEqual([0, 1, 1, 0])
    expect(at(new Bench([{ for: 10, until: t + 5 }]), [4, 5])).toEqual([1, 0])
  })

  it('counts no ordinals outside', () => {
    const bench = new Bench([{ from: 1_000_010, first: 2 }])
    expect(bench.callStates(5)).toBe('00000')
    bench.now += 10
    expect(bench.callStates(5)).toBe('11000')
    expect(bench.counts().not_yet).toBe(5)
  })

  it.each([
    ['rise in a straight line', 10, 50, 100, [0.1, 0.1, 0.2, 0.3, 0.5, 0.5]],
    ['rise as fast up to a limit, and stay there', 10, 50, 30, [0.1, 0.1, 0.2, 0.3, 0.3, 0.3]],
    ['fall as it does below a limit', 80, 20, 60, [0.6, 0.6, 0.6, 0.5, 0.2, 0.2]],
  ])('lets a ramp %s', (_, percent, to, maxPercent, expected) => {
    const bench = new Bench([{ percent, ramp: { to, over: 1000 } }], {}, { maxPercent })
    const shares = [-1, 0, 250, 500, 1000, 5000].map((offset) => {
      const state = bench.states.of(bench.rules[0]!)!
      return state.forecast(bench.rules[0]!, facts(), state.since + offset).share
    })
    for (const [i, share] of expected.entries()) expect(shares[i]).toBeCloseTo(share, 12)
  })

  it('lets a ramp begin without any call', () => {
    const from0 = new Bench([{ ramp: { to: 100, over: 1000 } }])
    expect(from0.callStates(1000)).not.toContain('1')
    from0.now += 500
    expectShare(from0.callStates(20_000).replaceAll('0', '').length, 20_000, 0.5)
    from0.now += 500
    expect(from0.callStates(1000)).not.toContain('0')
  })

  it('lets stages follow each other, and the last one stay', () => {
    const bench = new Bench([{ stages: [0, 50, 100], each: 100 }])
    expect(bench.callStates(500)).not.toContain('1')
    bench.now += 100
    expectShare(bench.callStates(20_000).replaceAll('0', '').length, 20_000, 0.5)
    bench.now += 99
    expect(bench.callStates(500)).toContain('0')
    bench.now += 1
    expect(bench.callStates(500)).not.toContain('0')
    bench.now += 10_000
    expect(bench.callStates(500)).not.toContain('0')
  })

  it('raising a share keeps the calls that were sampled before', () => {
    const at10 = new Bench([{ percent: 10, stickyBy: 'session' }]).callStates(2000, session)
    const at25 = new Bench([{ percent: 25, stickyBy: 'session' }]).callStates(2000, session)
    for (let i = 0; i < 2000; i++) if (at10[i] === '1') expect(at25[i]).toBe('1')
  })
})

describe('pods', () => {
  it('takes part with its share of the replicas, and always with the same', () => {
    const names = Array.from({ length: 1500 }, (_, i) => `weather-7d9f8c6b5-${i.toString(36)}`)
    const tenth = names.filter((name) => isIn(10, name))
    const quarter = new Set(names.filter((name) => isIn(25, name)))
    expectShare(tenth.length, names.length, 0.1)
    expectShare(quarter.size, names.length, 0.25)
    expect(tenth.every((name) => quarter.has(name))).toBe(true)
    expect(tenth).toEqual(names.filter((name) => isIn(10, name)))
  })

  it('of 100 and of 0, and without a name', () => {
    expect([isIn(100, 'a'), isIn(0, 'a'), isIn(100, undefined), isIn(99, undefined)]).toEqual([
      true,
      false,
      true,
      false,
    ])
  })
})

describe('limits that the file cannot loosen', () => {
  it('cap the share and the time', () => {
    const bench = new Bench(
      [{ percent: 90 }, {}, { stages: [5, 80], each: 1 }, { ramp: { to: 90, over: 10 } }],
      {},
      { maxPercent: 20 },
    )
    bench.now += 100
    const matches = [0, 0, 0, 0]
    for (let i = 0; i < 20_000; i++)
      for (const hit of bench.plan()?.matched ?? []) matches[hit.rule.index]!++
    for (const count of matches) expectShare(count, 20_000, 0.2)

    const timed = new Bench([{}, { for: 5 }, { for: 500 }], {}, { maxDuration: 100 })
    timed.now += 99
    expect(timed.matched()).toEqual(['rule-0', 'rule-2'])
    timed.now += 1
    expect(timed.matched()).toEqual([])
  })
})

describe('counts', () => {
  it('say of every matching call what became of it', () => {
    const spec = fc.record(
      {
        percent: fc.constantFrom(0, 30, 100),
        first: fc.nat(5),
        after: fc.nat(5),
        every: fc.integer({ min: 1, max: 4 }),
        times: fc.nat(4),
        maxActive: fc.nat(2),
        dryRun: fc.boolean(),
        for: fc.nat(50),
        burst: fc.constant({ rate: 0.5, length: 2 }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(
        fc.array(spec, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(5), { maxLength: 60 }),
        (specs, steps) => {
          const bench = new Bench(specs)
          const open = []
          for (const step of steps) {
            bench.now += step
            for (const hit of bench.plan()?.matched ?? []) {
              if (hit.begin()) hit.applied()
              open.push(hit)
            }
            if (step === 0) open.shift()?.finish()
          }
          for (const hit of open) hit.finish()
          for (const [i] of specs.entries()) {
            const counts = bench.counts(i)
            expect(counts.matched).toBe(steps.length)
            expect(RESULTS.reduce((sum, result) => sum + counts[result], 0)).toBe(counts.matched)
            expect(counts.sampled).toBe(
              counts.dry_run +
                counts.injected +
                counts.concurrency_limit +
                counts.not_applicable +
                counts.not_reached,
            )
            expect(bench.states.of(bench.rules[i]!)!.active.active).toBe(0)
          }
          expect(bench.states.active.active).toBe(0)
        },
      ),
      { numRuns: rounds(100, 300) },
    )
  })
})
