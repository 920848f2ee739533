// part: slow-nightly
import { expect, it } from 'vitest'
import { seededRandom } from '../../../../src/base/seeded-random.ts'
import { decide } from '../../src/search/sequential-test.ts'
import { type Settings, LimitSearch } from '../../src/search/limit-search.ts'
import { search } from './searched.ts'
import { SYSTEMS, trueLimit } from './systems.ts'

const SEARCHES = 100

it.each(SYSTEMS)('the interval has the true limit in 95 of 100 searches: $name', (system) => {
  const truth = trueLimit(system)
  const found = Array.from({ length: SEARCHES }, (_, seed) => search(system, seed))
  const inside = found.filter(
    ({ interval: [low, high] }) => (low ?? 0) <= truth && truth <= (high ?? Infinity),
  )
  expect(inside.length).toBeGreaterThanOrEqual(95)
  // An interval of the whole range would have the limit as well.
  const widths = found.map(({ interval: [low, high] }) => high! / low!)
  expect(widths.reduce((total, width) => total + width, 0) / SEARCHES).toBeLessThan(2.2)
  for (const { where } of found) expect(where).toBe('within')
  const errors = found.map(({ limit }) => Math.abs(Math.log(limit! / truth)))
  expect(errors.toSorted((one, other) => one - other)[89]).toBeLessThan(0.11)
  expect(found.reduce((total, { runs }) => total + runs, 0) / SEARCHES).toBeLessThan(21)
})

const RATES = { falseFailed: 0.05, falsePassed: 0.05 }

it('decides with few calls far from the limit, and with many near to it', () => {
  const callsFor = (share: number, seed: number): number => {
    const random = seededRandom(seed, 'calls')
    const batches = []
    while (batches.length < 2000) {
      let failed = 0
      for (let call = 0; call < 20; call++) if (random() < share) failed++
      batches.push({ calls: 20, failed })
      if (decide(batches, 0.05, RATES).kind !== 'undecided') break
    }
    return batches.length * 20
  }
  const mean = (share: number): number =>
    Array.from({ length: 20 }, (_, seed) => callsFor(share, seed)).reduce((a, b) => a + b, 0) / 20
  expect(mean(0.4)).toBeLessThan(60)
  expect(mean(0.06)).toBeGreaterThan(500)
})

it.each([
  { share: 0.05, wrong: ['passed', 'failed'] },
  { share: 0.045, wrong: ['failed'] },
  { share: 0.055, wrong: ['passed'] },
])('keeps the error rates when it looks after every batch, at $share', ({ share, wrong }) => {
  let errors = 0
  const tests = 400
  for (let seed = 0; seed < tests; seed++) {
    const random = seededRandom(seed, 'errors')
    const batches = []
    while (batches.length < 60) {
      let failed = 0
      for (let call = 0; call < 50; call++) if (random() < share) failed++
      batches.push({ calls: 50, failed })
      const { kind } = decide(batches, 0.05, RATES)
      if (kind === 'undecided') continue
      if (wrong.includes(kind)) errors++
      break
    }
  }
  // Both decisions are wrong at the limit itself.
  expect(errors / tests).toBeLessThan(0.05 * wrong.length)
})

it('calls that fail together count as fewer calls', () => {
  const spread = Array.from({ length: 40 }, () => ({ calls: 50, failed: 5 }))
  const bursts = spread.map((_, index) => ({ calls: 50, failed: index % 10 === 0 ? 50 : 0 }))
  expect(decide(spread, 0.05, RATES).kind).toBe('failed')
  expect(decide(bursts, 0.05, RATES).kind).toBe('undecided')
})

const SETTINGS: Settings = {
  range: { mildest: 1, strongest: 50 },
  maxFailedShare: 0.05,
  ...RATES,
  precision: 0.1,
  confidence: 0.95,
  runsAtOne: 2,
  widest: () => Infinity,
}

/** Searches with runs of 1,000 calls that fail from a magnitude on; returns all magnitudes. */
function steps(settings: Settings, limit: number): [LimitSearch, readonly number[]] {
  const bisection = new LimitSearch(settings)
  const asked: number[] = []
  for (;;) {
    const { magnitude } = bisection.next() ?? {}
    if (magnitude === undefined || asked.length > 60) return [bisection, asked]
    asked.push(magnitude)
    const { mildest, strongest } = settings.range
    const isStrong = mildest < strongest ? magnitude >= limit : magnitude <= limit
    bisection.add({ magnitude }, { batches: [{ calls: 1000, failed: isStrong ? 500 : 0 }] })
  }
}

it('a limit without noise is found in few runs', () => {
  const [bisection, asked] = steps(SETTINGS, 17)
  const { interval, limit, isPrecise, where } = bisection.result
  expect(isPrecise).toBe(true)
  expect(where).toBe('within')
  expect(interval[0]).toBeLessThanOrEqual(17)
  expect(interval[1]).toBeGreaterThanOrEqual(17)
  expect(Math.abs(limit! / 17 - 1)).toBeLessThan(0.1)
  expect(asked.length).toBeLessThan(12)
})

it('a stronger magnitude may be the smaller number', () => {
  const [bisection] = steps(
    { ...SETTINGS, range: { mildest: 1024, strongest: 8 }, widest: () => 8 },
    100,
  )
  const { interval } = bisection.result
  expect(interval[0]).toBeGreaterThanOrEqual(100)
  expect(interval[1]).toBeLessThanOrEqual(100)
})

it('a search among a few integers ends', () => {
  const range = { mildest: 10, strongest: 1, isWhole: true }
  const [bisection, asked] = steps({ ...SETTINGS, range, precision: 0.01, widest: () => 1 }, 4)
  expect(asked.every((each) => Number.isInteger(each))).toBe(true)
  expect(asked.length).toBeLessThan(20)
  const [low, high] = bisection.result.interval
  expect(low).toBeGreaterThanOrEqual(4)
  expect(low).toBeLessThanOrEqual(5)
  expect(high).toBe(4)
})

it('a limit beyond the range is reported as such', () => {
  const [below] = steps(SETTINGS, 0)
  expect(below.result).toMatchObject({ where: 'below', limit: null })
  expect(below.result.interval[0]).toBeNull()
  const [above] = steps(SETTINGS, 1000)
  expect(above.result).toMatchObject({ where: 'above', limit: null })
  expect(above.result.interval[1]).toBeNull()
})

it('runs of which none failed give no limit', () => {
  const single = new LimitSearch(SETTINGS)
  single.add({ magnitude: 3 }, { batches: [{ calls: 40, failed: 0 }] })
  expect(single.result).toMatchObject({ limit: null, interval: [null, null] })
})

it('a single failure names no plan that fails, where no magnitude of the range fails', () => {
  const single = new LimitSearch(SETTINGS)
  single.add({ magnitude: 3 }, { batches: [{ calls: 1000, failed: 500 }] })
  for (let runs = 0; runs < 40; runs++) {
    const place = single.next()
    if (place === undefined) break
    single.add(place, { batches: [{ calls: 1000, failed: 0 }] })
  }
  expect(single.result.where).toBe('above')
  expect(single.failing).toBeUndefined()
})

it('an integer is rounded to one that is not too far above those that passed', () => {
  const range = { mildest: 10, strongest: 1, isWhole: true }
  const widest = (passed = 30): number => Math.max(1, passed / 3)
  const [, asked] = steps({ ...SETTINGS, range, precision: 0.01, widest }, 0)
  expect(asked[0]).toBe(10)
  for (const [index, magnitude] of asked.slice(1).entries()) {
    const least = Math.min(...asked.slice(0, index + 1))
    expect(magnitude * 3, asked.join()).toBeGreaterThanOrEqual(least)
  }
  expect(Math.min(...asked)).toBe(1)
})

it('no magnitude follows that is too far above those that passed', () => {
  const widest = (passed: number | undefined): number => (passed === undefined ? 1 : passed * 3)
  const [, asked] = steps({ ...SETTINGS, widest }, 17)
  expect(asked[0]).toBe(1)
  for (const [index, magnitude] of asked.entries()) {
    const passed = asked.slice(0, index).filter((each) => each < 17)
    expect(magnitude).toBeLessThanOrEqual(Math.max(1, ...passed.map((each) => each * 3)) + 0.01)
  }
})

it('a magnitude that stays undecided is left, and the search ends', () => {
  const bisection = new LimitSearch(SETTINGS)
  let runs = 0
  for (; runs < 100; runs++) {
    const place = bisection.next()
    if (place === undefined) break
    bisection.add(place, { batches: [{ calls: 100, failed: 5 }] })
  }
  expect(runs).toBeLessThan(20)
  expect(bisection.result.isPrecise).toBe(false)
})

it('an event decides without a count of calls', () => {
  const bisection = new LimitSearch(SETTINGS)
  bisection.add(bisection.next()!, { batches: [], code: 'TARGET_LOST' })
  expect(bisection.points).toMatchObject([{ decision: 'failed', code: 'TARGET_LOST', runs: 1 }])
})
