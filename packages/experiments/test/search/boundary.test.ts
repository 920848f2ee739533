// part: slow
import { expect, it } from 'vitest'
import type { Magnitudes } from '../../src/search/bisection.ts'
import { type Settings, LimitSearch, type Step } from '../../src/search/limit-search.ts'
import { rounds } from '../../../../test/support/rounds.ts'
import { search2, usual } from './searched.ts'
import { type System2, SYSTEMS2, trueLimit } from './systems.ts'

const SEARCHES = rounds(4, 100)

/** Returns true when the boundary runs within the band at a magnitude of the second parameter. */
function isInside(
  { range, limit, at }: System2,
  boundary: readonly Step[],
  second: number,
): boolean {
  const [, high] = boundary.findLast((step) => step.second <= second)!.interval
  const [low] = boundary.find((step) => step.second >= second)!.interval
  const system = at(second)
  if (system.share(range.mildest) > limit) return low === null
  if (system.share(range.strongest) <= limit) return high === null
  const truth = trueLimit(system)
  return (low ?? 0) <= truth && truth <= (high ?? Infinity)
}

it.each(SYSTEMS2)('the band has the true boundary in 95 of 100 searches: $name', (system) => {
  const found = Array.from({ length: SEARCHES }, (_, seed) => search2(system, seed))
  const { mildest, strongest } = system.second
  // Also between the steps.
  const seconds = Array.from({ length: 41 }, (_, n) => mildest * (strongest / mildest) ** (n / 40))
  const inside = found.filter(({ boundary }) =>
    [...seconds, ...boundary.map(({ second }) => second)].every((second) =>
      isInside(system, boundary, Math.min(strongest, second)),
    ),
  )
  expect(inside.length).toBeGreaterThanOrEqual(Math.floor(SEARCHES * 0.95))
  expect(found.reduce((total, { runs }) => total + runs, 0) / SEARCHES).toBeLessThan(65)
  // A band of the whole range would have the boundary as well.
  const { range } = system
  const all = Math.log(range.strongest / range.mildest)
  const shares = found.flatMap(({ boundary }) =>
    boundary.map(({ where, interval: [low, high] }) =>
      where === 'within' ? Math.log((high ?? range.strongest) / (low ?? range.mildest)) / all : 0,
    ),
  )
  expect(shares.reduce((total, share) => total + share, 0) / shares.length).toBeLessThan(0.25)
})

const SECOND = { range: { mildest: 50, strongest: 5000 }, widest: threeTimes(50, 5000) }
const SETTINGS: Settings = { ...usual({ mildest: 1, strongest: 50 }, 0.05), second: SECOND }

function threeTimes(mildest: number, strongest: number): Settings['widest'] {
  return (passed) => (passed === undefined ? mildest : Math.min(strongest, passed * 3))
}

const breaks = { batches: [{ calls: 1000, failed: 500 }] }
const holds = { batches: [{ calls: 1000, failed: 0 }] }
const unclear = { batches: [{ calls: 100, failed: 5 }] }

/** Searches without noise; returns the search and all pairs that it asked for. */
function steps(
  isBroken: (magnitude: number, second: number) => boolean,
  settings = SETTINGS,
): readonly [LimitSearch, readonly Required<Magnitudes>[]] {
  const staircase = new LimitSearch(settings)
  const asked: Required<Magnitudes>[] = []
  for (;;) {
    const place = staircase.next()
    if (place === undefined || asked.length > 200) return [staircase, asked]
    const { magnitude, second = 0 } = place
    asked.push({ magnitude, second })
    staircase.add(place, isBroken(magnitude, second) ? breaks : holds)
  }
}

it('a boundary without noise is found in few runs, with a mildest pair that fails', () => {
  const [staircase, asked] = steps((magnitude, second) => magnitude * second >= 5000)
  expect(staircase.result).toMatchObject({ where: 'within', limit: null })
  expect(asked.length).toBeLessThan(60)
  for (const { second, where, interval } of staircase.boundary!) {
    if (5000 / second > 50) expect(where).toBe('above')
    else if (second < 5000) {
      expect(interval[0]).toBeLessThanOrEqual((5000 / second) * 1.01)
      expect(interval[1]).toBeGreaterThanOrEqual((5000 / second) * 0.99)
    }
  }
  const { failing, points } = staircase
  expect(failing!.magnitude * failing!.second!).toBeGreaterThanOrEqual(5000)
  const milder = points.filter(
    ({ magnitude, second, decision }) =>
      decision === 'failed' &&
      magnitude <= failing!.magnitude &&
      second! <= failing!.second! &&
      (magnitude < failing!.magnitude || second! < failing!.second!),
  )
  expect(milder).toEqual([])
})

it('no pair is far above one that passed, and none is stronger in both parameters', () => {
  const [{ boundary }, asked] = steps((magnitude, second) => magnitude * second >= 5000)
  const columns = boundary!.map(({ second }) => second)
  expect(asked[0]).toEqual({ magnitude: 1, second: 50 })
  for (const [index, { magnitude, second }] of asked.entries()) {
    if (magnitude === 1 && second === 50) continue
    const column = columns.indexOf(second)
    const isNear = asked.slice(0, index).some((each) => {
      if (each.magnitude * each.second >= 5000) return false
      const own = columns.indexOf(each.second)
      if (own >= column) return magnitude <= each.magnitude * 3.01
      return own === column - 1 && magnitude <= each.magnitude
    })
    expect(isNear, `${magnitude} x ${second}`).toBe(true)
  }
  for (const [index, second] of columns.entries()) {
    if (index > 0) expect(second / columns[index - 1]!).toBeLessThanOrEqual(3)
  }
})

it('a boundary beyond the ranges is reported as such', () => {
  expect(steps(() => true)[0].result.where).toBe('below')
  const [above] = steps(() => false)
  expect(above.result.where).toBe('above')
  expect(above.failing).toBeUndefined()
})

it('pairs that stay undecided are left, and the search ends', () => {
  const staircase = new LimitSearch(SETTINGS)
  let runs = 0
  for (; runs < 500; runs++) {
    const place = staircase.next()
    if (place === undefined) break
    staircase.add(place, unclear)
  }
  expect(runs).toBeLessThan(120)
  expect(staircase.result.isPrecise).toBe(false)
  expect(new Set(staircase.points.map(({ decision }) => decision))).toEqual(new Set(['undecided']))
})

it('a resumed search goes on where it ended', () => {
  const isBroken = (magnitude: number, second: number): boolean => magnitude * second >= 5000
  const [whole, asked] = steps(isBroken)
  for (const made of [1, 5, 20]) {
    const resumed = new LimitSearch(SETTINGS, whole.points.slice(0, made))
    expect(resumed.next()).toEqual(asked[made])
  }
  // A point of another range says nothing.
  const other = new LimitSearch(SETTINGS, [{ ...whole.points[0]!, second: 77 }])
  expect(other.next()).toEqual(asked[0])
})

it('the second parameter may be a few integers, of which the smallest is the strongest', () => {
  const range = { mildest: 4, strongest: 1, isWhole: true }
  const second = { range, widest: (passed = 12) => Math.max(1, passed / 3) }
  const [{ boundary }] = steps((magnitude, calls) => magnitude >= 10 * calls, {
    ...SETTINGS,
    second,
  })
  expect(boundary!.map((step) => step.second)).toEqual([4, 3, 2, 1])
  expect(boundary!.at(-1)!.limit).toBeCloseTo(10, 0)
})
