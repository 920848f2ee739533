import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JSON_TYPES, retyped, typeOf } from '../../../../src/filters/lib/json/retype.ts'
import { readJson } from '../../../../src/base/json/json-text.ts'

describe('another type', () => {
  it.each([
    ['12.50', 'string', '"12.50"'],
    ['true', 'string', '"true"'],
    ['null', 'string', '"null"'],
    ['[1, "a"]', 'string', '"[1, \\"a\\"]"'],
    ['"12"', 'number', '12'],
    ['" 1e3 "', 'number', '1e3'],
    ['"10000000000000000001"', 'number', '10000000000000000001'],
    ['"abc"', 'number', '3'],
    ['"0x1"', 'number', '3'],
    ['true', 'number', '1'],
    ['null', 'number', '0'],
    ['[1,2]', 'number', '2'],
    ['{"a":1,"a":2}', 'number', '1'],
    ['"False"', 'boolean', 'false'],
    ['"x"', 'boolean', 'true'],
    ['0', 'boolean', 'false'],
    ['[]', 'boolean', 'false'],
    ['{"a":0}', 'boolean', 'true'],
    ['{"a":1 , "b": [2.0],"a":3}', 'array', '[[2.0],3]'],
    ['1.0', 'array', '[1.0]'],
    ['null', 'array', '[]'],
    ['[1.0, {}]', 'object', '{"0":1.0,"1":{}}'],
    ['"a"', 'object', '{"value":"a"}'],
    ['null', 'object', '{}'],
    ['[1]', 'null', 'null'],
    ['true', 'boolean', undefined],
    ['null', 'null', undefined],
  ] as const)('%s as %s', (text, type, wanted) => {
    expect(retyped(text, readJson(text)!, type)).toBe(wanted)
  })

  it('is always JSON of that type', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(...JSON_TYPES), (text, type) => {
        const node = readJson(text)!
        const after = retyped(text, node, type)
        if (typeOf(node) === type) expect(after).toBeUndefined()
        else expect(typeOf(readJson(after!)!)).toBe(type)
      }),
    )
  })
})
