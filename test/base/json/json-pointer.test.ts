import { expect, it } from 'vitest'
import { sameJson } from '../../../src/base/values.ts'
import { parsePointer, pointedAt, pointerTo } from '../../../src/base/json/json-pointer.ts'

// RFC 6901, section 5.
const value = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'm~n': 8, ' ': 7, '~1': 3 }

it.each([
  ['', [], value],
  ['/foo', ['foo'], ['bar', 'baz']],
  ['/foo/0', ['foo', '0'], 'bar'],
  ['/', [''], 0],
  ['/a~1b', ['a/b'], 1],
  ['/m~0n', ['m~n'], 8],
  ['/~01', ['~1'], 3],
])('the pointer %j is read and written', (pointer, keys, found) => {
  expect(parsePointer(pointer)).toEqual(keys)
  expect(pointerTo(keys)).toBe(pointer)
  expect(pointedAt(value, keys)).toEqual(found)
})

it.each(['foo', '/~2', '/a~', '#/foo'])('%j is no pointer', (pointer) => {
  expect(parsePointer(pointer)).toBeUndefined()
})

it('a pointer continues another one', () => {
  expect(pointerTo(['ports', 1, 'a/b'], '/spec')).toBe('/spec/ports/1/a~1b')
})

it.each([
  [{ a: 1, b: [2, { c: null }] }, { b: [2, { c: null }], a: 1 }, true],
  [{ a: undefined }, {}, true],
  [{}, { a: undefined }, true],
  [{ a: null }, {}, false],
  [{ a: undefined, b: 1 }, { b: 1, c: 2 }, false],
  [[1, 2], [1], false],
  [[1], [1, 2], false],
  [[], {}, false],
  [JSON.parse('{"__proto__":1}'), {}, false],
  [{}, JSON.parse('{"toString":1}'), false],
])('%j and %j are the same JSON: %s', (one, other, same) => {
  expect(sameJson(one, other)).toBe(same)
  expect(sameJson(other, one)).toBe(same)
})

it('values nested too deep to be compared are not the same, and do no harm', () => {
  const deep = (): unknown => JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)
  expect(sameJson(deep(), deep())).toBe(false)
})
