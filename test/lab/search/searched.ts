import { seededRandom } from '../../../src/base/seeded-random.ts'
import { Bisection, type Limit } from '../../../src/lab/search/bisection.ts'
import type { System } from './systems.ts'

const MOST_RUNS = 60

/** The result of a search on a simulated system. */
export interface Searched extends Limit {
  readonly runs: number
}

/** Searches the limit of a simulated system. */
export function search(system: System, seed: number): Searched {
  const { range, limit, name, run } = system
  const random = seededRandom(seed, name)
  const bisection = new Bisection({
    range,
    maxFailedShare: limit,
    errorRates: { falseFailed: 0.05, falsePassed: 0.05 },
    precision: 0.1,
    confidence: 0.95,
    runsAtOne: 2,
    widest: (passed) => (passed === undefined ? range.mildest : passed * 3),
  })
  let runs = 0
  for (; runs < MOST_RUNS; runs++) {
    const magnitude = bisection.next()
    if (magnitude === undefined) break
    bisection.add(magnitude, { batches: run(magnitude, random) })
  }
  return { ...bisection.result, runs }
}
