import { expect, it } from 'vitest'
import { indicatorsOf, noCounts } from '../../src/indicators/indicators.ts'
import type { ErrorCount, LoadResult } from '../../src/load/results/result.ts'
import { gateVerdict, taskVerdict, verdictOf } from '../../src/report/verdict.ts'

/** As much of a result as a verdict is made from. */
function result(
  some: Partial<LoadResult['counts']>,
  errors: readonly ErrorCount[] = [],
  slo: LoadResult['slo'] = [],
): LoadResult {
  const counts = { ...noCounts(), ...some }
  return { counts, indicators: indicatorsOf(counts), errors, slo } as unknown as LoadResult
}

it('says in one sentence what became of the calls', () => {
  const all = { calls: 5000, tasks: 5000, inTime: 5000, schemaOk: 5000, usable: 5000 }
  const fine = { ...all, responded: 5000, correct: 5000, success: 5000 }
  expect(verdictOf(result({}))).toBe('No call was made.')
  expect(verdictOf(result(fine))).toBe('All 5,000 calls succeeded.')
  const errors = [
    { kind: 'tool', origin: 'injected', count: 90 },
    { kind: 'http', origin: 'injected', code: 503, count: 10 },
    { kind: 'rpc', origin: 'real', code: -32603, count: 40 },
  ] as const
  const failed = { ...all, responded: 4860, correct: 4860, success: 4860 }
  expect(verdictOf(result(failed, errors))).toBe(
    '4,860 of 5,000 calls succeeded; 2.0 % had an injected error, 0.80 % had a real error.',
  )
  expect(verdictOf(result({ ...failed, responded: 4960 }, errors.slice(2)))).toBe(
    '4,860 of 5,000 calls succeeded; 0.80 % had a real error, 2.0 % returned a wrong result.',
  )
})

it('says what it meant for those who asked', () => {
  const counts = { calls: 1600, tasks: 200, success: 1500 }
  expect(taskVerdict(result({ ...counts, tasks: 1600 }))).toBe(undefined)
  expect(taskVerdict(result(counts))).toBe('Of 200 tasks of 8 calls, none failed.')
  expect(taskVerdict(result({ ...counts, failedTasks: 30, degradedTasks: 4 }))).toBe(
    'Of 200 tasks of 8 calls, 30 failed (15.0 %), and 4 were degraded.',
  )
})

it('says whether the gates passed', () => {
  const gate = { gate: 'p99<2s', limit: 2000, measured: 12, ok: true }
  expect(gateVerdict(result({}))).toBe(undefined)
  expect(gateVerdict(result({}, [], [gate, gate]))).toBe('All gates passed.')
  const failed = { ...gate, gate: 'blast<5%', measured: 0.275, ok: false }
  expect(gateVerdict(result({}, [], [gate, failed]))).toBe(
    'Failed: 27.5 % of tasks failed, the limit is 5 %.',
  )
})
