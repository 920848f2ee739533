import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Histogram } from '../../../src/load/results/histogram.ts'

const latencies = fc.array(fc.double({ min: 0, max: 1e7, noNaN: true }), {
  minLength: 1,
  maxLength: 300,
})
const shares = fc.constantFrom(0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1)

test('a quantile is off by at most one percent, and a microsecond', () => {
  fc.assert(
    fc.property(latencies, shares, (values, share) => {
      const histogram = of(values)
      const sorted = values.toSorted((a, b) => a - b)
      const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
      expect(Math.abs(histogram.quantile(share)! - exact)).toBeLessThanOrEqual(exact * 0.01 + 0.001)
    }),
  )
})

test('merged histograms are the histogram of all values, also as text', () => {
  fc.assert(
    fc.property(latencies, latencies, (a, b) => {
      const merged = Histogram.from(JSON.parse(JSON.stringify(of(a).data())))
      merged.addAll(of(b).data())
      expect(merged.data()).toEqual(of([...a, ...b]).data())
    }),
  )
})

test('values next to powers of two fall into buckets in their order', () => {
  let last = 0
  for (let power = 6; power < 36; power++) {
    for (const value of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
      const seen = of([value / 1000]).data().buckets[0]!
      expect(seen).toBeGreaterThanOrEqual(last)
      last = seen
    }
  }
})

test('an empty one has no figures, and one that lies is refused', () => {
  const empty = new Histogram()
  expect(empty.quantile(0.5)).toBe(null)
  expect(empty.summary().p99).toBe(null)
  const data = { ...of([1]).data(), buckets: [1e9, 1] }
  expect(() => Histogram.from(data)).toThrow(RangeError)
})

function of(values: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const value of values) histogram.add(value)
  return histogram
}
