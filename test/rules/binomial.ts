import { expect } from 'vitest'

/**
 * The counts that a binomial variable leaves with a chance of at most `tail` on either side. Exact.
 */
export function binomialBounds(n: number, p: number, tail = 1e-7): readonly [number, number] {
  if (p <= 0) return [0, 0]
  if (p >= 1) return [n, n]
  const logOf = Math.log(p / (1 - p))
  let logMass = n * Math.log(1 - p)
  let below = Math.exp(logMass)
  let low = below > tail ? 0 : -1
  for (let k = 1; k <= n; k++) {
    logMass += Math.log((n - k + 1) / k) + logOf
    below += Math.exp(logMass)
    if (low < 0 && below > tail) low = k
    if (1 - below <= tail) return [Math.max(0, low), k]
  }
  return [Math.max(0, low), n]
}

/** Expects a count that independent draws of this chance leave but once in five million runs. */
export function expectShare(hits: number, n: number, p: number): void {
  const [low, high] = binomialBounds(n, p)
  expect(hits).toBeGreaterThanOrEqual(low)
  expect(hits).toBeLessThanOrEqual(high)
}
