// part: slow-nightly
import { expect, it } from 'vitest'
import { seededRandom } from '../../src/base/seeded-random.ts'
import { magnitudeAt } from '../../src/lab/search/range.ts'
import { sum } from '../../src/lab/search/sequential-test.ts'
import { search, search2 } from '../lab/search/searched.ts'
import { type System, SYSTEMS, SYSTEMS2, trueLimit } from '../lab/search/systems.ts'
import { rounds } from '../support/rounds.ts'
import { geneticSearch } from './genetic-search.ts'

const SEARCHES = rounds(20, 100)
const MOST = rounds(60, 300)

/** Returns the error that nine of ten searches do not exceed. */
function usual(errors: readonly number[]): number {
  return errors.toSorted((one, other) => one - other)[Math.ceil(errors.length * 0.9) - 1]!
}

/** Returns the relative errors of the genetic search after each run, one list for each search. */
function geneticErrors(
  system: System,
  searches = SEARCHES,
  most = MOST,
  column = 0,
): readonly (readonly number[])[] {
  const truth = trueLimit(system)
  return Array.from({ length: searches }, (_, seed) => {
    const random = seededRandom(seed, `genetic ${system.name}${column || ''}`)
    const measure = (position: number): number => {
      const batches = system.run(magnitudeAt(system.range, position), random)
      return sum(batches, 'failed') / sum(batches, 'calls')
    }
    const found = geneticSearch(measure, system.limit, random)
    return Array.from({ length: most }, () =>
      Math.abs(Math.log(magnitudeAt(system.range, found.next().value) / truth)),
    )
  })
}

it.each(SYSTEMS)('bisection needs at most half the runs of a genetic search: $name', (system) => {
  const truth = trueLimit(system)
  const searches = Array.from({ length: SEARCHES }, (_, seed) => search(system, seed))
  const runs = searches.reduce((total, each) => total + each.runs, 0) / SEARCHES
  const error = usual(searches.map(({ limit }) => Math.abs(Math.log((limit ?? Infinity) / truth))))
  expect(needed(system.name, geneticErrors(system), error, runs)).toBeGreaterThanOrEqual(2 * runs)
})

/** Returns the runs after which nine of ten genetic searches have an error, or the most. */
function needed(
  name: string,
  genetic: readonly (readonly number[])[],
  error: number,
  runs: number,
  steps = 1,
): number {
  const after = genetic[0]!.map((_, run) => usual(genetic.map((each) => each[run]!)))
  const first = after.findIndex((each) => each <= error)
  const most = (first < 0 ? after.length : first + 1) * steps
  if (process.env['SQUALL_SEARCH_TABLE'] !== undefined) {
    console.log(`| ${name} | ${error} | ${runs} | ${first < 0 ? 'more than ' : ''}${most} |`)
  }
  return most
}

const BOUNDARIES = rounds(3, 20)
const MOST_OF_STEP = rounds(30, 100)

it.each(SYSTEMS2)('a staircase needs at most half the runs of genetic ones: $name', (system) => {
  const { range, limit } = system
  const searches = Array.from({ length: BOUNDARIES }, (_, seed) => search2(system, seed))
  const runs = searches.reduce((total, each) => total + each.runs, 0) / BOUNDARIES
  // The steps with a limit inside the range, which a genetic search can find.
  const inner = searches[0]!.boundary
    .map(({ second }, column) => ({ column, system: system.at(second) }))
    .filter(
      ({ system: { share } }) => share(range.mildest) < limit && limit < share(range.strongest),
    )
  const truths = inner.map((each) => trueLimit(each.system))
  // The greatest error of all steps.
  const errors = searches.map(({ boundary }) =>
    Math.max(
      ...inner.map(({ column }, index) => {
        const { limit: found, where } = boundary[column]!
        const end = where === 'below' ? range.mildest : range.strongest
        return Math.abs(Math.log((found ?? end) / truths[index]!))
      }),
    ),
  )
  // One genetic search for each step: it cannot know which steps have no limit.
  const each = inner.map(({ system: own, column }) =>
    geneticErrors(own, BOUNDARIES, MOST_OF_STEP, column),
  )
  const genetic = Array.from({ length: BOUNDARIES }, (_, seed) =>
    Array.from({ length: MOST_OF_STEP }, (__, run) =>
      Math.max(...each.map((all) => all[seed]![run]!)),
    ),
  )
  const found = needed(system.name, genetic, usual(errors), runs, searches[0]!.boundary.length)
  expect(found).toBeGreaterThanOrEqual(2 * runs)
})
