import type { JUnitSuite } from '../report/junit.ts'
import { isBad, type SweepResult } from './sweep-result.ts'
import { cellSentence } from './sweep-tables.ts'

/** Returns the cells as tests. */
export function sweepSuite(result: SweepResult, seconds: number): JUnitSuite {
  const { cells, calls, startedAt } = result
  return {
    name: 'squall sweep',
    startedAt,
    seconds,
    cases: cells.map((each) => ({
      name: `${each.id} ${calls.find(({ number }) => number === each.call)?.tool ?? ''}`,
      seconds: each.runs.reduce((sum, run) => sum + run.seconds, 0),
      failure: isBad(each) ? cellSentence(each, result) : undefined,
    })),
  }
}
