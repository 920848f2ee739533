import { expect, test } from 'vitest'
import { jsonWeight } from '../../../src/base/json/json-weight.ts'

test('each value, key and character weighs something', () => {
  expect(jsonWeight(undefined)).toBeLessThan(100)
  expect(jsonWeight({ a: [1, { b: 'x'.repeat(1000) }] })).toBeGreaterThan(2000)
  expect(jsonWeight(Array.from({ length: 1000 }, () => ({})))).toBeGreaterThan(60_000)
})

test('a value that is nested deeply is weighed too', () => {
  expect(jsonWeight(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)))).toBeGreaterThan(6e6)
})
