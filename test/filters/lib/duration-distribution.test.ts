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
  return Array.from({ length: 20_000 }, () => drawDuration(distribution, max, random))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

describe('a duration', () => {
  it('is fixed, with jitter to both sides', () => {
    expect(drawDuration({ fixed: 100 }, 1e9, () => 0.9)).toBe(100)
    expect(drawDuration({ fixed: 100, jitter: 20 }, 1e9, () => 0)).toBe(80)
    expect(drawDuration({ fixed: 100, jitter: 20 }, 1e9, () => 0.5)).toBe(100)
    expect(drawDuration({ fixed: 100, jitter: 20 }, 1e9, () => 0.75)).toBe(110)
  })

  it('is never negative and never above the most', () => {
    expect(drawDuration({ fixed: 10, jitter: 100 }, 1e9, () => 0)).toBe(0)
    expect(drawDuration({ fixed: 10, jitter: 100 }, 50, () => 0.99)).toBe(50)
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

  it('is a number within bounds, whatever is sampled', () => {
    const ms = fc.integer({ min: 0, max: 2_592_000_000 })
    const distribution = fc.oneof(
      fc.record({ fixed: ms, jitter: ms }),
      fc.record({ uniform: fc.record({ min: ms, max: ms }) }),
      fc.record({ normal: fc.record({ mean: ms, stddev: ms }) }),
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
        const sampled = drawDuration(of, max, () => draws.shift() ?? 0)
        expect(sampled).toBeGreaterThanOrEqual(0)
        expect(sampled).toBeLessThanOrEqual(max)
      }),
    )
  })
})
