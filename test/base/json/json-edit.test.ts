import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  editEntries,
  editsInString,
  inOrder,
  setMember,
  splice,
} from '../../../src/base/json/json-edit.ts'
import { find, findMatches, type JsonObject } from '../../../src/base/json/json-node.ts'
import { readJson } from '../../../src/base/json/json-text.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'

function found(text: string, ...keys: string[]): readonly string[] {
  return find(readJson(text)!, keys).map(({ start, end }) => text.slice(start, end))
}

describe('finding values', () => {
  const text = '{"a" :[ {"b":1 , "b": 2},{"c":3} ,[4]], "a/b": 5, "":6}'

  it.each([
    [[], [text]],
    [['a', '0', 'b'], ['2']],
    [['a', '*', 'b'], ['2']],
    [
      ['a', '*', '*'],
      ['2', '3', '4'],
    ],
    [['*'], ['[ {"b":1 , "b": 2},{"c":3} ,[4]]', '5', '6']],
    [['a/b'], ['5']],
    [[''], ['6']],
    [['a', '3'], []],
    [['a', '00'], []],
    [['a', '-'], []],
    [['a', 'length'], []],
    [['constructor'], []],
    [['a/b', 'x'], []],
  ])('by %j', (keys, values) => {
    expect(found(text, ...keys)).toEqual(values)
  })

  it('says which member or item of its parent a value is', () => {
    const root = readJson(text)!
    expect(findMatches(root, ['a', '0', 'b'])).toMatchObject([
      { index: 1, parent: { kind: 'object', start: 8 } },
    ])
    expect(findMatches(root, [])).toEqual([{ node: root, parent: undefined, index: 0 }])
  })
})

describe('edits', () => {
  it('leave all other characters alone', () => {
    const edits = [
      { start: 1, end: 2, text: 'XX' },
      { start: 2, end: 2, text: '+' },
      { start: 3, end: 4, text: '' },
    ]
    expect(splice('abcdef', edits)).toBe('aXX+cef')
    expect(splice('abc', [])).toBe('abc')
    expect(inOrder(edits.toReversed())).toEqual(edits)
  })

  it.each([
    [
      [
        { start: 1, end: 3, text: '' },
        { start: 2, end: 4, text: '' },
      ],
    ],
    [[{ start: 2, end: 1, text: '' }]],
    [[{ start: 0, end: 9, text: '' }]],
  ])('that overlap or leave the text are an error: %j', (edits) => {
    expect(() => splice('abcd', edits)).toThrow(RangeError)
  })

  it.each([
    ['[ 1 , 2,3 ]', [0], '[ 2,3 ]'],
    ['[ 1 , 2,3 ]', [1], '[ 1,3 ]'],
    ['[ 1 , 2,3 ]', [2], '[ 1 , 2 ]'],
    ['[ 1 , 2,3 ]', [0, 1], '[ 3 ]'],
    ['[ 1 , 2,3 ]', [0, 1, 2], '[  ]'],
    ['{ "a": 1 , "b":2 }', [0], '{ "b":2 }'],
    ['{ "a": 1 , "b":2 }', [1], '{ "a": 1 }'],
  ])('take entries of %s out with their comma', (text, gone, after) => {
    const node = readJson(text) as JsonObject
    expect(splice(text, editEntries(node, { removes: (index) => gone.includes(index) }))).toBe(
      after,
    )
  })

  it.each([
    ['{ }', '{"k":0 }'],
    ['{"a":1 }', '{"a":1,"k":0 }'],
    ['{"k":1 }', '{"k":0 }'],
    ['{"k":1,"k" : 2 }', '{"k":1,"k" : 0 }'],
  ])('set a member of %s', (text, after) => {
    expect(splice(text, setMember(readJson(text) as JsonObject, 'k', '0'))).toBe(after)
  })

  it('of entries come to the same as on the list', () => {
    const change = fc.record({ gone: fc.boolean(), after: fc.array(fc.nat(), { maxLength: 2 }) })
    const space = fc.constantFrom('', ' ', '\n\t')
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.jsonValue(), change, space)),
        fc.array(fc.nat(), { maxLength: 3 }),
        space,
        (list, adds, end) => {
          const items = list.map(([value, , pad]) => pad + JSON.stringify(value) + pad)
          const text = `[${items.join(',')}${end}]`
          const edits = editEntries(readJson(text) as JsonObject, {
            removes: (index) => list[index]![1].gone,
            follows: (index) => list[index]![1].after.map(String),
            adds: adds.map(String),
          })
          const wanted = list.flatMap(([value, { gone, after }]) => (gone ? [] : [value, ...after]))
          expect(JSON.parse(splice(text, edits))).toEqual(
            JSON.parse(JSON.stringify([...wanted, ...adds])),
          )
        },
      ),
    )
  })
})

describe('edits in a string', () => {
  it('keep the escapes of what they do not touch', () => {
    const text = '["\\u0061b\\/\\n\\"é😀\\ud83d\\ude00z"]'
    const node = find(readJson(text)!, ['0'])[0]!
    if (node.kind !== 'string') throw new TypeError('no string')
    const at = node.value.indexOf('\n')
    const edits = editsInString(text, node, [
      { start: at, end: at + 1, text: '"\t' },
      { start: node.value.length - 1, end: node.value.length, text: 'y' },
    ])
    expect(splice(text, edits)).toBe('["\\u0061b\\/\\"\\t\\"é😀\\ud83d\\ude00y"]')
  })

  it('come to the same as on what the string says', () => {
    const part = fc.oneof(
      fc
        .string({ unit: ANY_CHARACTER, maxLength: 3 })
        .map((said) => JSON.stringify(said).slice(1, -1)),
      fc.constantFrom('\\u0041', '\\/', '\\ud800', '\\n', '\\\\', '\\"'),
    )
    fc.assert(
      fc.property(
        fc.array(part),
        fc.nat(),
        fc.nat(),
        fc.string({ unit: ANY_CHARACTER }),
        (parts, a, b, piece) => {
          const text = `"${parts.join('')}"`
          const node = readJson(text)!
          if (node.kind !== 'string') throw new TypeError('no string')
          const [start, end] = [a, b]
            .map((n) => n % (node.value.length + 1))
            .sort((x, y) => x - y) as [number, number]
          const edit = { start, end, text: piece }
          const after = splice(text, editsInString(text, node, [edit]))
          expect(JSON.parse(after)).toBe(splice(node.value, [edit]))
        },
      ),
    )
  })
})
