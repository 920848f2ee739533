import { describe, expect, it } from 'vitest'
import { Bench, facts } from '../facts.ts'

const SEEDS = 200
const CALLS = 60

function callStates(seed: number, pod: string | undefined, rule: object = {}): string {
  return new Bench([{ percent: 20, ...rule }], { seed }, { pod }).callStates(CALLS)
}

function ones(text: string): number {
  return text.split('1').length - 1
}

/** The chance of `k` sampled calls of 60 at 20 %. */
function binomial(k: number): number {
  let chance = 0.8 ** CALLS
  for (let i = 0; i < k; i++) chance *= ((CALLS - i) / (i + 1)) * 0.25
  return chance
}

describe('the samples of a rule', () => {
  it('spread over seeds as chance does', () => {
    const found = Array.from({ length: SEEDS }, (_, seed) => ones(callStates(seed, 'weather-0')))
    // Bins of the number of sampled calls, each with more than ten seeds.
    const bins = [0, 8, 10, 11, 12, 13, 14, 16, CALLS + 1]
    let square = 0
    for (let bin = 0; bin + 1 < bins.length; bin++) {
      const [from, to] = [bins[bin]!, bins[bin + 1]!]
      let share = 0
      for (let k = from; k < to && k <= CALLS; k++) share += binomial(k)
      const expected = share * SEEDS
      const seen = found.filter((k) => k >= from && k < to).length
      square += (seen - expected) ** 2 / expected
    }
    // 7 degrees of freedom: chance exceeds this in 1 of 1,000 tests.
    expect(square).toBeLessThan(24.3)
  })

  it('of two replicas are independent, over all seeds', () => {
    const table = [0, 0, 0, 0]
    for (let seed = 0; seed < SEEDS; seed++) {
      const [one, two] = ['weather-0', 'weather-1'].map((pod) => callStates(seed, pod))
      for (let i = 0; i < CALLS; i++) table[Number(one![i]) * 2 + Number(two![i])]!++
    }
    const total = SEEDS * CALLS
    const expected = [0.64, 0.16, 0.16, 0.04].map((share) => share * total)
    const square = table.reduce((sum, n, i) => sum + (n - expected[i]!) ** 2 / expected[i]!, 0)
    // 3 degrees of freedom.
    expect(square).toBeLessThan(16.3)
  })

  it('of bursts and of numbers for faults differ between replicas', () => {
    const burst = { percent: 100, burst: { rate: 0.2, length: 5 } }
    expect(callStates(1, 'a', burst)).not.toBe(callStates(1, 'b', burst))
    const number = (pod: string, rule: object = {}): number =>
      new Bench([rule], { seed: 1 }, { pod }).plan()!.matched[0]!.random(0)()
    expect(number('a')).not.toBe(number('b'))
    expect(number('a', { shareSamples: true })).toBe(number('b', { shareSamples: true }))
  })

  it('of a session are those of every replica, whatever seed each has drawn', () => {
    const rule = { percent: 20, stickyBy: 'session' as const }
    const of = (i: number) => facts({}, { session: `session-${i}` })
    const replica = (pod: string): string =>
      new Bench([rule], { seed: undefined }, { pod, seed: pod }).callStates(CALLS, of)
    expect(replica('1')).toBe(replica('2'))
    expect(replica('1')).toContain('1')
  })

  it('are shared by replicas with shareSamples', () => {
    expect(callStates(3, 'a', { shareSamples: true })).toBe(
      callStates(3, 'b', { shareSamples: true }),
    )
    expect(callStates(3, 'a')).not.toBe(callStates(3, 'b'))
  })

  it('select the same replicas for `pods` after a restart with another drawn seed', () => {
    const isIn = (pod: string, seed: string): boolean =>
      new Bench([{ pods: 50 }], { seed: undefined }, { pod, seed }).rules[0]!.selection.inPod
    const names = Array.from({ length: 20 }, (_, n) => `weather-${n}`)
    const first = names.map((pod) => isIn(pod, '1'))
    expect(names.map((pod) => isIn(pod, '2'))).toEqual(first)
    expect(new Set(first).size).toBe(2)
  })
})
