import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { headerValue, headerValues, mediaType, targetPath } from '../../src/http/headers.ts'

const LINES = ['Accept', 'a', 'ACCEPT', 'b', 'x-accept', 'c', 'accept', 'd']

test('headers are found in any casing, in order', () => {
  expect(headerValue(LINES, 'accept')).toBe('a')
  expect(headerValues(LINES, 'accept')).toEqual(['a', 'b', 'd'])
  expect(headerValue(LINES, 'x-accept')).toBe('c')
  expect(headerValue(LINES, 'host')).toBeUndefined()
  expect(headerValues(LINES, 'host')).toEqual([])
})

test('a value is never taken for a name, nor a name without value for a header', () => {
  expect(headerValue(['a', 'host', 'b', 'x'], 'host')).toBeUndefined()
  expect(headerValue(['host'], 'host')).toBeUndefined()
  expect(headerValue(['host', ''], 'host')).toBe('')
})

test.each([
  [undefined, ''],
  ['', ''],
  ['application/json', 'application/json'],
  [' Application/JSON ; charset=utf-8', 'application/json'],
  ['text/event-stream;', 'text/event-stream'],
  [';charset=utf-8', ''],
])('the media type of %j is %j', (value, type) => {
  expect(mediaType(value)).toBe(type)
})

test.each([
  ['/mcp', '/mcp'],
  ['/mcp?x=http://a/b', '/mcp'],
  ['//a/b?', '//a/b'],
  ['http://pod:80/mcp?x', '/mcp'],
  ['http://pod', '/'],
  ['*', '*'],
  ['', ''],
])('the path of %j is %j', (target, path) => {
  expect(targetPath(target)).toBe(path)
})

/** Characters and escapes of a path or query. */
const PART = fc.string({
  unit: fc.constantFrom(...Array.from("azAZ09-._~!$&'()*+,;=:@/"), '%3F', '%C3%BC'),
})

test('the path of anything in origin form ends at the first question mark', () => {
  fc.assert(
    fc.property(PART, PART, (path, query) => {
      expect(targetPath(`/${path}?${query}`)).toBe(`/${path}`)
    }),
  )
})
