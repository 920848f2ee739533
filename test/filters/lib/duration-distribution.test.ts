import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawDuration } from '../../../src/filters/lib/duration-distribution.ts'
import type { DurationDistribution } from '../../../src/filters/lib/duration-distribution.ts'

/**
 * Numbers that cover the interval evenly; the pairs that two draws in a row take cover the square.
 */
function even(): () => number {
  let index = 0
  return () => {
    index++
    return index % 2 === 1 ? (index * 0.7548776662466927) % 1 : (index * 0.5698402909980532) % 1
  }
}

function sample(distribution: DurationDistribution, max = 1e9): number[] {
  const random = even()
  return Array.from({ length: 20_000 }, () =>
    drawDuration(distribution, max, { random, now: () => 0 }),
  )
}

function at(random: number, now = 0) {
  return { random: () => random, now: () => now }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

describe('a duration', () => {
  it('is fixed, with jitter to both sides', () => {
    expect(drawDuration({ fixed: 100 }, 1e9, at(0.9))).toBe(100)
    expect(drawDuration({ fixed: 100, jitter: 20 }, 1e9, at(0))).toBe(80)
    expect(drawDuration({ fixed: 100, jitter: 20 }, 1e9, at(0.5))).toBe(100)
    expect(drawDuration({ fixed: 100, jitter: 20 }, 1e9, at(0.75))).toBe(110)
  })

  it('is never negative and never above the most', () => {
    expect(drawDuration({ fixed: 10, jitter: 100 }, 1e9, at(0))).toBe(0)
    expect(drawDuration({ fixed: 10, jitter: 100 }, 50, at(0.99))).toBe(50)
  })

  it('follows its distribution', () => {
    expect(mean(sample({ uniform: { min: 100, max: 300 } }))).toBeCloseTo(200, -1)
    const normal = sample({ normal: { mean: 1000, stddev: 100 } })
    expect(Math.abs(mean(normal) - 1000)).toBeLessThan(10)
    const spread = Math.sqrt(mean(normal.map((value) => (value - 1000) ** 2)))
    expect(Math.abs(spread - 100)).toBeLessThan(10)
    expect(Math.abs(mean(sample({ exponential: { mean: 500 } })) - 500)).toBeLessThan(25)
    const pareto = sample({ pareto: { scale: 100, shape: 3 } })
    expect(Math.min(...pareto)).toBeGreaterThanOrEqual(100)
    expect(Math.abs(mean(pareto) - 150)).toBeLessThan(15)
  })

  it('swings around its middle, in step with the clock', () => {
    const swing = (now: number): number =>
      drawDuration({ fixed: 100, jitter: 20, period: 4000 }, 1e9, at(0.9, now))
    expect([0, 1000, 2000, 3000, 4000, 1e12 + 1000].map((now) => Math.round(swing(now)))).toEqual([
      100, 120, 100, 80, 100, 120,
    ])
  })

  it('mixes normal and Pareto: the middle is below the mean, and the tail is heavy', () => {
    const mixed = sample({ paretoNormal: { mean: 1000, stddev: 100 } })
    expect(Math.abs(mean(mixed) - 1000)).toBeLessThan(10)
    const spread = Math.sqrt(mean(mixed.map((value) => (value - 1000) ** 2)))
    expect(Math.abs(spread - 100)).toBeLessThan(10)
    const sorted = mixed.toSorted((a, b) => a - b)
    const quantile = (share: number): number => sorted[Math.floor(share * sorted.length)]!
    expect(quantile(0.5)).toBeLessThan(985)
    // A normal distribution has 3.1 deviations here, and is as far from its mean at the other end.
    expect(quantile(0.999) - 1000).toBeGreaterThan(500)
    expect(1000 - quantile(0.001)).toBeLessThan(200)
  })

  it('is a number within bounds, whatever is sampled', () => {
    const ms = fc.integer({ min: 0, max: 2_592_000_000 })
    const distribution = fc.oneof(
      fc.record({ fixed: ms, jitter: ms }),
      fc.record({ uniform: fc.record({ min: ms, max: ms }) }),
      fc.record({ normal: fc.record({ mean: ms, stddev: ms }) }),
      fc.record({ paretoNormal: fc.record({ mean: ms, stddev: ms }) }),
      fc.record({ exponential: fc.record({ mean: ms }) }),
      fc.record({
        pareto: fc.record({ scale: ms, shape: fc.double({ min: 1e-9, max: 100, noNaN: true }) }),
      }),
    )
    const draw = fc.oneof(
      fc.constantFrom(0, 1 - 2 ** -53),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    )
    fc.assert(
      fc.property(distribution, ms, draw, draw, (of, max, one, two) => {
        const draws = [one, two]
        const sampled = drawDuration(of, max, { random: () => draws.shift() ?? 0, now: () => 0 })
        expect(sampled).toBeGreaterThanOrEqual(0)
        expect(sampled).toBeLessThanOrEqual(max)
      }),
    )
  })
})
