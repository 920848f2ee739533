import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeHeaderValue, encodeHeaderValue } from '../../src/mcp/name-header.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

test.each([
  ['日本', '=?base64?5pel5pys?='],
  ['search_docs', 'search_docs'],
  ['a\tb c', 'a\tb c'],
  ['', '=?base64??='],
  [' a', '=?base64?IGE=?='],
  ['=?base64?x?=', '=?base64?PT9iYXNlNjQ/eD89?='],
])('%j is written %j', (text, header) => {
  expect(encodeHeaderValue(text)).toBe(header)
  expect(decodeHeaderValue(header)).toBe(text)
})

test.each([
  ['missing padding', '=?base64?IGE?='],
  ['stray bits', '=?base64?IGF=?='],
  ['URL alphabet', '=?base64?_-8=?='],
  ['broken UTF-8', '=?base64?/w==?='],
  ['raw bytes above ASCII', 'caf\u00e9'],
  ['a control character', 'a\u0000b'],
])('refuses %s', (_, header) => {
  expect(decodeHeaderValue(header)).toBeUndefined()
})

test('surrounding blanks are dropped, other markers are plain text', () => {
  expect(decodeHeaderValue(' \techo ')).toBe('echo')
  expect(decodeHeaderValue('=?BASE64?IGE=?=')).toBe('=?BASE64?IGE=?=')
  expect(decodeHeaderValue('=?base64?=')).toBe('=?base64?=')
  expect(decodeHeaderValue('=?base64?IGE=')).toBe('=?base64?IGE=')
})

test('every text survives the round trip in header-safe characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const header = encodeHeaderValue(text)
      expect(header).toMatch(/^[\t\x20-\x7e]*$/)
      expect(decodeHeaderValue(header)).toBe(text)
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER }), (value) => void decodeHeaderValue(value)),
  )
})
