import { expect, it } from 'vitest'
import { seededRandom } from '../../src/base/seeded-random.ts'
import { magnitudeAt } from '../../src/lab/search/range.ts'
import { sum } from '../../src/lab/search/sequential-test.ts'
import { search } from '../lab/search/searched.ts'
import { type System, SYSTEMS, trueLimit } from '../lab/search/systems.ts'
import { rounds } from '../support/rounds.ts'
import { geneticSearch } from './genetic-search.ts'

const SEARCHES = rounds(20, 100)
const MOST = rounds(60, 300)

/** Returns the error that nine of ten searches do not exceed. */
function usual(errors: readonly number[]): number {
  return errors.toSorted((one, other) => one - other)[Math.ceil(errors.length * 0.9) - 1]!
}

/** Returns the relative errors of the genetic search after each run, one list for each search. */
function geneticErrors(system: System): readonly (readonly number[])[] {
  const truth = trueLimit(system)
  return Array.from({ length: SEARCHES }, (_, seed) => {
    const random = seededRandom(seed, `genetic ${system.name}`)
    const measure = (position: number): number => {
      const batches = system.run(magnitudeAt(system.range, position), random)
      return sum(batches, 'failed') / sum(batches, 'calls')
    }
    const found = geneticSearch(measure, system.limit, random)
    return Array.from({ length: MOST }, () =>
      Math.abs(Math.log(magnitudeAt(system.range, found.next().value) / truth)),
    )
  })
}

it.each(SYSTEMS)('bisection needs at most half the runs of a genetic search: $name', (system) => {
  const truth = trueLimit(system)
  const searches = Array.from({ length: SEARCHES }, (_, seed) => search(system, seed))
  const runs = searches.reduce((total, each) => total + each.runs, 0) / SEARCHES
  const error = usual(searches.map(({ limit }) => Math.abs(Math.log((limit ?? Infinity) / truth))))
  const genetic = geneticErrors(system)
  const after = Array.from({ length: MOST }, (_, run) => usual(genetic.map((each) => each[run]!)))
  const first = after.findIndex((each) => each <= error)
  const needed = first < 0 ? MOST : first + 1
  if (process.env['SQUALL_SEARCH_TABLE'] !== undefined) {
    console.log(
      `| ${system.name} | ${error} | ${runs} | ${first < 0 ? `more than ${MOST}` : needed} |`,
    )
  }
  expect(needed).toBeGreaterThanOrEqual(2 * runs)
})
