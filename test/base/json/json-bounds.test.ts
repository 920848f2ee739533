import { assert, jsonValue, property } from 'fast-check'
import { expect, test } from 'vitest'
import {
  isTooComplex,
  jsonPieces,
  MAX_JSON_DEPTH,
  MAX_JSON_PIECES,
  parseJson,
  SMALL_JSON,
} from '../../../src/base/json/json-bounds.ts'

const values = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, each) => sum + values(each), 1)
    : 1

test('no value goes uncounted, whatever strings look like', () => {
  assert(
    property(jsonValue({ stringUnit: 'grapheme' }), (value) => {
      expect(jsonPieces(JSON.stringify(value))).toBeGreaterThanOrEqual(values(value) / 2)
    }),
  )
  const strings = ['a\\"[{,:', '\\', '\\\\', '"', '[', '}]', '\\\\"']
  for (const one of strings) {
    expect(jsonPieces(JSON.stringify([one, 1, 2]))).toBe(4)
  }
})

test('texts above a bound are not parsed, and small ones are not looked through', () => {
  const wide = (items: number): string => `[${'0,'.repeat(items)}0]`
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  expect(isTooComplex(wide(MAX_JSON_PIECES - 2))).toBe(false)
  expect(isTooComplex(wide(MAX_JSON_PIECES))).toBe(true)
  expect(isTooComplex(deep(MAX_JSON_DEPTH) + ' '.repeat(SMALL_JSON))).toBe(false)
  expect(isTooComplex(deep(MAX_JSON_DEPTH + 1) + ' '.repeat(SMALL_JSON))).toBe(true)
  expect(isTooComplex(deep(SMALL_JSON / 2))).toBe(false)
  expect(() => parseJson(wide(MAX_JSON_PIECES))).toThrow('too many values')
  expect(isTooComplex(JSON.stringify('[{,:'.repeat(MAX_JSON_PIECES)))).toBe(false)
})

test('a text that is no JSON is looked through in time that is in proportion to it', () => {
  for (const text of ['"', '\\', '"\\', '"\\"', '["\\\\', '\\"']) {
    expect(jsonPieces(text.repeat(500_000))).toBeGreaterThan(0)
  }
})
