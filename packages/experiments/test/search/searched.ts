import { seededRandom } from '../../../../src/base/seeded-random.ts'
import type { Limit, Extent } from '../../src/search/bisection.ts'
import { type Settings, LimitSearch, type Step } from '../../src/search/limit-search.ts'
import type { System, System2 } from './systems.ts'

const MOST_RUNS = 300

/** Settings as those of a search without options; that of a boundary has a precision of 25 %. */
export const usual = (range: Extent, limit: number): Settings => ({
  range,
  maxFailedShare: limit,
  falseFailed: 0.05,
  falsePassed: 0.05,
  precision: 0.1,
  confidence: 0.95,
  runsAtOne: 2,
  widest: threeTimes(range),
})

function threeTimes({ mildest, strongest }: Extent): Settings['widest'] {
  return (passed) => (passed === undefined ? mildest : Math.min(strongest, passed * 3))
}

/** The result of a search on a simulated system. */
export interface Searched extends Limit {
  readonly runs: number
}

/** Searches the limit of a simulated system. */
export function search({ range, limit, name, run }: System, seed: number): Searched {
  const random = seededRandom(seed, name)
  const search1 = new LimitSearch(usual(range, limit))
  const runs = runAll(search1, ({ magnitude }) => run(magnitude, random))
  return { ...search1.result, runs }
}

/** Searches the boundary of a simulated system with two magnitudes. */
export function search2(
  { range, second, limit, name, at }: System2,
  seed: number,
): { readonly boundary: readonly Step[]; readonly runs: number; readonly staircase: LimitSearch } {
  const random = seededRandom(seed, name)
  const beside = { range: second, widest: threeTimes(second) }
  const staircase = new LimitSearch({ ...usual(range, limit), precision: 0.25, second: beside })
  const runs = runAll(staircase, (place) => at(place.second!).run(place.magnitude, random))
  return { boundary: staircase.boundary!, runs, staircase }
}

/** Runs a search to its end; returns the number of runs. */
function runAll(
  staircase: LimitSearch,
  run: (place: NonNullable<ReturnType<LimitSearch['next']>>) => ReturnType<System['run']>,
): number {
  let runs = 0
  for (; runs < MOST_RUNS; runs++) {
    const place = staircase.next()
    if (place === undefined) break
    staircase.add(place, { batches: run(place) })
  }
  return runs
}
