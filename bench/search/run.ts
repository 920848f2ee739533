// Counts the runs after which a genetic search is as exact as Squall's, on simulated targets.
import { seededRandom } from '../../src/base/seeded-random.ts'
import { magnitudeAt } from '../../packages/experiments/src/search/bisection.ts'
import { sum } from '../../packages/experiments/src/search/sequential-test.ts'
import { search, search2 } from '../../packages/experiments/test/search/searched.ts'
import {
  type System,
  type System2,
  SYSTEMS,
  SYSTEMS2,
  trueLimit,
} from '../../packages/experiments/test/search/systems.ts'
import { geneticSearch } from './genetic-search.ts'

const SEARCHES = 100
const MOST_RUNS = 300
const BOUNDARIES = 20
/** The most runs of a genetic search for each value of the second parameter. */
const MOST_OF_STEP = 100

/** The error after each run of a search. */
type Errors = readonly number[]

const indices = (length: number): readonly number[] => Array.from({ length }, (_, index) => index)

/** Returns the error that nine of ten searches do not exceed. */
function usual(errors: Errors): number {
  return errors.toSorted((one, other) => one - other)[Math.ceil(errors.length * 0.9) - 1]!
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length
}

/** Returns the relative errors of one genetic search. */
function geneticErrors(system: System, seed: number, most: number, column = 0): Errors {
  const truth = trueLimit(system)
  const random = seededRandom(seed, `genetic ${system.name}${column || ''}`)
  const measure = (position: number): number => {
    const batches = system.run(magnitudeAt(system.range, position), random)
    return sum(batches, 'failed') / sum(batches, 'calls')
  }
  const found = geneticSearch(measure, system.limit, random)
  return indices(most).map(() =>
    Math.abs(Math.log(magnitudeAt(system.range, found.next().value) / truth)),
  )
}

/** Prints a row: the error of Squall's search, its runs, and those of genetic searches. */
function printRow(
  name: string,
  own: Errors,
  runs: number,
  genetic: readonly Errors[],
  steps = 1,
): void {
  const error = usual(own)
  const most = genetic[0]!.length
  const first = indices(most).find((run) => usual(genetic.map((each) => each[run]!)) <= error)
  const needed = first === undefined ? `more than ${most * steps}` : (first + 1) * steps
  const percent = Math.round(error * 100)
  process.stdout.write(`| ${name} | ${percent} % | ${Math.round(runs)} | ${needed} |\n`)
}

function compare(system: System): void {
  const truth = trueLimit(system)
  const searches = indices(SEARCHES).map((seed) => search(system, seed))
  const errors = searches.map(({ limit }) => Math.abs(Math.log((limit ?? Infinity) / truth)))
  const genetic = indices(SEARCHES).map((seed) => geneticErrors(system, seed, MOST_RUNS))
  printRow(system.name, errors, mean(searches.map(({ runs }) => runs)), genetic)
}

function compare2(system: System2): void {
  const { range, limit } = system
  const searches = indices(BOUNDARIES).map((seed) => search2(system, seed))
  const steps = searches[0]!.boundary
  // A genetic search finds limits inside the range, and cannot know which steps have none.
  const inner = steps
    .map(({ second }, column) => ({ column, own: system.at(second) }))
    .filter(({ own: { share } }) => share(range.mildest) < limit && limit < share(range.strongest))
  const errors = searches.map(({ boundary }) =>
    Math.max(
      ...inner.map(({ column, own }) => {
        const { limit: found, where } = boundary[column]!
        const end = where === 'below' ? range.mildest : range.strongest
        return Math.abs(Math.log((found ?? end) / trueLimit(own)))
      }),
    ),
  )
  const genetic = indices(BOUNDARIES).map((seed) => {
    const each = inner.map(({ own, column }) => geneticErrors(own, seed, MOST_OF_STEP, column))
    return indices(MOST_OF_STEP).map((run) => Math.max(...each.map((all) => all[run]!)))
  })
  printRow(system.name, errors, mean(searches.map(({ runs }) => runs)), genetic, steps.length)
}

const HEAD = '| target | error that nine of ten searches stay below | runs | runs, genetic |\n'
process.stdout.write(`${HEAD}| --- | --- | --- | --- |\n`)
for (const system of SYSTEMS) compare(system)
for (const system of SYSTEMS2) compare2(system)
