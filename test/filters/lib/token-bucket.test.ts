import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TokenBucket } from '../../../src/filters/lib/token-bucket.ts'

const RATE = { calls: 2, per: 1000, burst: 3 }

describe('a token bucket', () => {
  it('begins full, and fills token by token', () => {
    const bucket = new TokenBucket(RATE, 0)
    expect([0, 0, 0, 0].map((now) => bucket.take(now))).toEqual([0, 0, 0, 500])
    expect(bucket.take(499)).toBe(1)
    expect(bucket.take(500)).toBe(0)
    expect(bucket.take(500)).toBe(500)
  })

  it('never holds more than its burst', () => {
    const bucket = new TokenBucket(RATE, 0)
    const taken = Array.from({ length: 10 }, () => bucket.take(1e12))
    expect(taken.filter((ms) => ms === 0)).toHaveLength(3)
  })

  it('gets nothing from a clock that goes back, and continues from there', () => {
    const bucket = new TokenBucket({ ...RATE, burst: 1 }, 10_000)
    expect(bucket.take(10_000)).toBe(0)
    expect(bucket.take(0)).toBe(500)
    expect(bucket.take(499)).toBe(1)
    expect(bucket.take(500)).toBe(0)
  })

  it('is exact: what went through by any time is what the rate allows', () => {
    const rate = fc.record({
      calls: fc.integer({ min: 1, max: 1_000_000 }),
      per: fc.integer({ min: 1, max: 100_000_000 }),
      burst: fc.integer({ min: 1, max: 20 }),
    })
    const steps = fc.array(fc.integer({ min: 0, max: 50_000 }), { maxLength: 60 })
    fc.assert(
      fc.property(rate, steps, ({ calls, per, burst }, waits) => {
        const bucket = new TokenBucket({ calls, per, burst }, 0)
        let now = 0
        let model = BigInt(burst) * BigInt(per)
        for (const wait of waits) {
          now += wait
          model += BigInt(wait) * BigInt(calls)
          if (model > BigInt(burst) * BigInt(per)) model = BigInt(burst) * BigInt(per)
          const passes = bucket.take(now) === 0
          expect(passes).toBe(model >= BigInt(per))
          if (passes) model -= BigInt(per)
        }
      }),
    )
  })
})
