import { expect, it } from 'vitest'
import { limitText } from '../../src/search/search-text.ts'
import { parseVariation } from '../../src/search/variation.ts'

const settings = { until: 'errors>5%', confidence: 0.95 }
const point = (magnitude: number, decision: 'passed' | 'failed' | 'undecided') => {
  return {
    magnitude,
    runs: 1,
    calls: 100,
    failed: decision === 'failed' ? 40 : 0,
    decision,
    evidence: 20,
  }
}
const percent = [parseVariation('percent=1%..50%')]

it('a search in which no run failed names no limit', () => {
  const interval = [22, null] as const
  const points = [point(7, 'passed'), point(22, 'passed')]
  expect(
    limitText(
      { where: 'within', limit: null, interval, points, settings, isPrecise: false },
      percent,
    ),
  ).toBe(
    'errors>5% was not true in any run; with 95.0 % confidence it is not true below 22%. Allow more runs.',
  )
})

it('a search whose runs show nothing yet names no lower bound', () => {
  const limit = { where: 'within', limit: null, interval: [null, null] } as const
  const points = [point(1, 'undecided')]
  expect(limitText({ ...limit, points, settings, isPrecise: false }, percent)).toBe(
    'errors>5% was not true in any run; with 95.0 % confidence no lower bound is known yet. Allow more runs.',
  )
})

it('a search names the magnitude from which the condition is true, with its interval', () => {
  const interval = [7, 22] as const
  const points = [point(7, 'passed'), point(22, 'failed')]
  expect(
    limitText(
      { where: 'within', limit: 12, interval, points, settings, isPrecise: false },
      percent,
    ),
  ).toBe('errors>5% is true from percent 12% on; with 95.0 % confidence from 7% to 22%.')
})
