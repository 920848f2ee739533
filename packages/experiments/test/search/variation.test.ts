import { expect, it } from 'vitest'
import { noErrors, type TimePoint } from '../../src/load/results/result.ts'
import { Histogram } from '../../src/load/results/histogram.ts'
import { batchesOf, parseCondition } from '../../src/search/condition.ts'
import {
  parseVariation,
  parseVariations,
  placeText,
  variedRules,
} from '../../src/search/variation.ts'

it.each([
  ['percent=0.5%..50%', ['percent'], 0.5, 50, '0.5%'],
  ['delay=50ms..5s', ['delay', 'fixed'], 50, 5000, '50ms'],
  ['throttle=1MiB..1KiB', ['throttle', 'rate'], 1_048_576, 1024, '1048576B'],
  ['rateLimit=100..1', ['rateLimit', 'limit', 'calls'], 100, 1, '100'],
  ['delay.uniform.max=1s..1m', ['delay', 'uniform', 'max'], 1000, 60_000, '1000ms'],
  ['truncate.after=90%..10%', ['truncate', 'after'], 90, 10, '90%'],
])('reads %s', (text, path, mildest, strongest, first) => {
  const variation = parseVariation(text)
  expect(variation.path).toEqual(path)
  expect(variation.range).toMatchObject({ mildest, strongest })
  expect(variation.shown(mildest)).toBe(first)
})

it.each(['percent=50%..1%', 'delay=5s..50ms', 'throttle=1KiB..1MiB', 'rateLimit=1..100'])(
  'rejects %s, which begins with the strongest magnitude',
  (text) => expect(() => parseVariation(text)).toThrow('begins with the stronger value'),
)

it('changes the parameter where a rule has it, and nothing else', () => {
  const variation = parseVariation('delay=50ms..5s')
  const rules = [
    { name: 'late', percent: 20, faults: [{ delay: { fixed: '1s', jitter: '5ms' } }] },
    { name: 'other', faults: [{ delay: { uniform: { min: '1s', max: '2s' } } }, { hang: {} }] },
  ]
  expect(variedRules(rules, variation, 70)).toEqual([
    { name: 'late', percent: 20, faults: [{ delay: { fixed: '70ms', jitter: '5ms' } }] },
    rules[1],
  ])
  expect(variedRules(rules.slice(1), variation, 70)).toBeUndefined()
})

it('reads two ranges of different parameters, and no more', () => {
  const both = parseVariations(['percent=1%..50%', 'delay=50ms..5s'])
  expect(placeText(both, { magnitude: 5, second: 300 })).toBe('percent 5%, delay.fixed 300ms')
  expect(placeText(both.slice(0, 1), { magnitude: 5 })).toBe('percent 5%')
  expect(() => parseVariations(['delay=1s..2s', 'delay.fixed=1s..5s'])).toThrow('varied twice')
  const three = ['percent=1%..2%', 'delay=1s..2s', 'hang.for=1s..2s']
  expect(() => parseVariations(three)).toThrow('3 parameters are varied; vary at most two')
})

it('writes an integer as one', () => {
  const rules = [{ name: 'busy', faults: [{ rateLimit: { limit: { calls: 10, per: '1s' } } }] }]
  const varied = variedRules(rules, parseVariation('rateLimit=100..1'), 7)
  expect(varied).toEqual([
    { name: 'busy', faults: [{ rateLimit: { limit: { calls: 7, per: '1s' } } }] },
  ])
})

it.each([
  ['success<99%', 0.01, ['success', 99], 3],
  ['errors>5%', 0.05, ['errors', 5], 2],
  ['p95>2s', 0.05, ['p95', 2000], 1],
] as const)('counts the calls of %s', (text, limit, gate, failed) => {
  const condition = parseCondition(text)
  expect(condition.limit).toBeCloseTo(limit, 9)
  expect(condition.gate).toEqual(gate)
  const latency = new Histogram()
  for (const ms of [10, 20, 30, 40, 50, 60, 70, 80, 90, 5000]) latency.add(ms)
  const rest = { retries: 0, dropped: 0, inFlight: 0, p50: 50, p99: 5000 }
  const errors = { ...noErrors(), injected: 1, real: 1 }
  // One of the calls without an error is wrong.
  const point: TimePoint = { ...rest, at: 0, calls: 10, ok: 7, errors, histogram: latency.data() }
  const empty = { ...point, calls: 0, ok: 0, histogram: new Histogram().data() }
  const batches = batchesOf({ intervalMs: 1000, points: [point, empty] }, condition)
  expect(batches).toEqual([{ calls: 10, failed }])
})
