import { describe, expect, it } from 'vitest'
import { bucketQuantile } from '../../src/admin/live-snapshot.ts'

const BOUNDS = Float64Array.of(0.1, 0.2, 1)

function at(share: number, ...counts: number[]): number | null {
  return bucketQuantile(share, BOUNDS, Float64Array.from(counts))
}

describe('a quantile of buckets', () => {
  it('is nothing where there is nothing', () => {
    expect(at(0.5, 0, 0, 0, 0)).toBeNull()
  })

  it('counts values as evenly spread within a bucket', () => {
    expect(at(0.5, 10, 0, 0, 0)).toBeCloseTo(0.05)
    expect(at(0.5, 0, 10, 0, 0)).toBeCloseTo(0.15)
    expect(at(0.95, 5, 5, 0, 0)).toBeCloseTo(0.19)
    expect(at(0.5, 5, 0, 5, 0)).toBeCloseTo(0.1)
  })

  it('is the last bound for what lies beyond it', () => {
    expect(at(0.5, 0, 0, 0, 3)).toBe(1)
    expect(at(0.95, 1, 0, 0, 3)).toBe(1)
  })
})
