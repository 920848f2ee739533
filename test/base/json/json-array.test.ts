import { array, assert, json, property, stringMatching, tuple, uint8Array } from 'fast-check'
import { expect, it } from 'vitest'
import { jsonArray, jsonElements, withElementsInFront } from '../../../src/base/json/json-array.ts'

const texts = (parts: readonly Uint8Array[] | undefined) =>
  parts?.map((part) => Buffer.from(part).toString())

it('cuts any array into its elements, whatever is in them and between them', () => {
  const blank = stringMatching(/^[ \t\r\n]{0,3}$/)
  assert(
    property(array(tuple(json(), blank, blank)), (parts) => {
      const body = `[${parts.map(([value, a, b]) => a + value + b).join(',')}]`
      const elements = jsonElements(Buffer.from(body))
      expect(texts(elements)).toEqual(parts.map(([value]) => value.trim()))
      expect(JSON.parse(jsonArray(elements!).toString())).toEqual(JSON.parse(body))
    }),
  )
})

it('knows what is no array', () => {
  for (const text of ['', '{}', '"[1]"', '[1', '[{"a":"]"}']) {
    expect(jsonElements(Buffer.from(text))).toBeUndefined()
  }
  expect(texts(jsonElements(Buffer.from('\ufeff [ ]')))).toEqual([])
})

it('never fails on bytes that are no JSON', () => {
  assert(
    property(uint8Array(), (bytes) => {
      jsonElements(bytes)
      withElementsInFront(bytes, [])
    }),
  )
})

it('puts elements in front of an array that has only begun', () => {
  const start = withElementsInFront(Buffer.from(' [{"a"'), [Buffer.from('1'), Buffer.from('2')])
  expect(start?.toString()).toBe('[1,2,{"a"')
  expect(withElementsInFront(Buffer.from('{'), [])).toBeUndefined()
})
