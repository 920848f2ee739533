import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectShare } from '../binomial.ts'
import { Bench, facts } from '../facts.ts'
import type { LooseRule } from '../facts.ts'
import { rounds } from '../../support/rounds.ts'

const N = rounds(15_000, 200_000)

const session = (i: number) => facts({}, { session: `session-${i}` })
const header = (i: number) => facts({}, { headers: ['x-user', `user-${i}`] })
const trace = (i: number) =>
  facts(
    {},
    { headers: ['traceparent', `00-${i.toString(16).padStart(32, '0')}-00f067aa0ba902b7-01`] },
  )
const args = (i: number) => facts({ args: { page: i, query: 'squall' } })

/** The first numbers of two faults of a sampled rule. */
function numbers(): number[] {
  const hit = new Bench([{}]).plan()!.matched[0]!
  const [a, b] = [hit.random(0), hit.random(1)]
  return [a(), a(), b(), b()]
}

describe('percent', () => {
  it.each([
    ['ordinal', 'ordinal', () => facts()],
    ['session', 'session', session],
    ['header', { header: 'X-User' }, header],
    ['args', 'args', args],
    ['trace', 'trace', trace],
  ] as const)('matches its share of calls, sampled by %s', (_, sample, of) => {
    for (const percent of [1, 30]) {
      const bench = new Bench([{ percent, stickyBy: sample }])
      const callStates = bench.callStates(N, of)
      expectShare(callStates.replaceAll('0', '').length, N, percent / 100)
    }
  })

  it('of 0 samples no call, of 100 every call', () => {
    const bench = new Bench([
      { percent: 0 },
      { percent: 100 },
      { probability: 0 },
      { probability: 1 },
      {},
    ])
    for (let i = 0; i < N / 10; i++) expect(bench.matched()).toEqual(['rule-1', 'rule-3', 'rule-4'])
  })

  it('is exact for small shares, too', () => {
    const bench = new Bench([{ percent: 0.01 }])
    expectShare(bench.callStates(N).replaceAll('0', '').length, N, 0.0001)
  })
})

describe('the same seed and the same calls', () => {
  const rules: LooseRule[] = [
    { percent: 30 },
    { percent: 50, stickyBy: { header: 'x-user' } },
    { burst: { rate: 0.2, length: 4 } },
    { percent: 10, first: 500, every: 2 },
  ]
  const run = (seed: number) => {
    const bench = new Bench(rules, { seed })
    return Array.from({ length: 2000 }, (_, i) => bench.matched(header(i % 37)).join())
  }

  it('give the same callStates and the same numbers', () => {
    expect(run(7)).toEqual(run(7))
    expect(run(7)).not.toEqual(run(8))
    expect(numbers()).toEqual(numbers())
    expect(new Set(numbers()).size).toBe(4)
  })

  it('let replicas agree wherever they see the same key, in any order', () => {
    const one = new Bench([{ percent: 40, stickyBy: { header: 'x-user' } }])
    const two = new Bench([{ percent: 40, stickyBy: { header: 'x-user' } }])
    const forward = one.callStates(500, header)
    const backward = two.callStates(500, (i) => header(499 - i))
    expect(backward.split('').toReversed().join('')).toBe(forward)
  })

  it('are sampled alike whatever other rules there are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...rules), { maxLength: 5 }),
        fc.integer(),
        (others, seed) => {
          const mine: LooseRule = { name: 'mine', percent: 30 }
          const alone = new Bench([mine], { seed })
          const among = new Bench(
            [...others, mine, ...others.map((r) => ({ ...r, name: `x${others.indexOf(r)}` }))],
            { seed },
          )
          for (let i = 0; i < 60; i++) {
            expect(among.matched(header(i)).includes('mine')).toBe(
              alone.matched(header(i)).length === 1,
            )
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('fall back to the ordinal for calls without a key', () => {
    const plain = new Bench([{ percent: 30 }]).callStates(300)
    for (const sample of ['session', 'args', 'trace', { header: 'x' }] as const) {
      expect(new Bench([{ percent: 30, stickyBy: sample }]).callStates(300)).toBe(plain)
    }
  })
})

describe('order', () => {
  it.each([
    [{ first: 2 }, '1100000000'],
    [{ after: 3 }, '0001111111'],
    [{ every: 3 }, '0010010010'],
    [{ times: 4 }, '1111000000'],
    [{ after: 2, first: 3 }, '0011100000'],
    [{ every: 2, first: 2 }, '0101000000'],
    [{ after: 1, every: 3, first: 2 }, '0001001000'],
    [{ every: 2, times: 1 }, '0100000000'],
    [{ first: 5, times: 3 }, '1110000000'],
  ] as const)('%o', (spec, callStates) => {
    expect(new Bench([spec]).callStates(10)).toBe(callStates)
  })

  it('counts the calls that match and no others', () => {
    const bench = new Bench([{ match: { tool: 'a' }, every: 2 }])
    expect(bench.callStates(12, (i) => facts({ name: i % 3 === 0 ? 'a' : 'b' }))).toBe(
      '000100000100',
    )
  })

  it('counts sampled calls for `times`, not all calls', () => {
    const bench = new Bench([{ percent: 10, times: 7 }])
    expect(bench.callStates(1000).replaceAll('0', '').length).toBe(7)
  })
})

describe('bursts', () => {
  it('have the long-run rate and the mean length', () => {
    for (const [rate, length] of [
      [0.2, 5],
      [0.05, 10],
      [0.5, 1],
      [0.6, 3],
    ] as const) {
      const callStates = new Bench([{ burst: { rate, length } }]).callStates(N)
      const runs = callStates.split('0').filter((run) => run !== '')
      const matches = callStates.replaceAll('0', '').length
      // The variance of a chain's mean: that of independent draws times what its memory adds.
      const memory = 1 - 1 / length - rate / (length * (1 - rate))
      const spread = 5 * Math.sqrt(N * rate * (1 - rate) * ((1 + memory) / (1 - memory)))
      expect(Math.abs(matches - N * rate)).toBeLessThanOrEqual(spread)
      const ofLength = 5 * Math.sqrt((length * (length - 1)) / runs.length)
      expect(Math.abs(matches / runs.length - length)).toBeLessThanOrEqual(ofLength + 1e-9)
    }
  })

  it('of rate 0 never begin, of rate 1 never end', () => {
    expect(new Bench([{ burst: { rate: 0, length: 3 } }]).callStates(2000)).not.toContain('1')
    expect(new Bench([{ burst: { rate: 1, length: 3 } }]).callStates(2000)).not.toContain('0')
  })

  it('are thinned by percent', () => {
    const bench = new Bench([{ burst: { rate: 0.5, length: 4 }, percent: 50 }])
    const plain = new Bench([{ burst: { rate: 0.5, length: 4 } }]).callStates(2000)
    const thinned = bench.callStates(2000)
    for (let i = 0; i < 2000; i++) if (thinned[i] === '1') expect(plain[i]).toBe('1')
    expect(thinned.replaceAll('0', '').length).toBeLessThan(plain.replaceAll('0', '').length)
  })
})
