import { expect, test } from 'vitest'
import { chance } from '../../src/experiment/stages.ts'

test.each([
  // By exact sums of binomial coefficients.
  [5, 100, 0.01, 0.00686],
  [12, 60, 0.2, 1],
  [3, 60, 0.2, 0.002027],
  [20, 60, 0.2, 0.02134],
  [0, 30, 0.2, 0.00248],
  [30, 30, 0.5, 1.86e-9],
  [200_500, 1_000_000, 0.2, 0.2118],
  [7, 7, 1, 1],
  [6, 7, 1, 0],
  [0, 7, 0, 1],
  [0, 0, 0.2, 1],
])('the chance of %d of %d calls at %d', (sampled, calls, p, expected) => {
  const found = chance(sampled, calls, p)
  expect(Math.abs(found - expected)).toBeLessThanOrEqual(expected * 0.02)
})
