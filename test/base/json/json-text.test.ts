import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effectiveMembers, type JsonNode } from '../../../src/base/json/json-node.ts'
import { MAX_JSON_DEPTH } from '../../../src/base/json/json-bounds.ts'
import { MAX_JSON_VALUES, readJson } from '../../../src/base/json/json-text.ts'
import { rounds } from '../../support/rounds.ts'

/** Returns the value that JSON.parse reads; undefined when it throws. */
function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** The value of a node, made from the nodes alone. */
function valueFrom(node: JsonNode): unknown {
  if (node.kind === 'array') return node.items.map(valueFrom)
  if (node.kind !== 'object') return node.value
  // As JSON.parse does it: `__proto__` is a member like any other.
  return Object.fromEntries(effectiveMembers(node).map(({ key, value }) => [key, valueFrom(value)]))
}

function nodesOf(node: JsonNode): readonly JsonNode[] {
  if (node.kind === 'array') return [node, ...node.items.flatMap(nodesOf)]
  if (node.kind !== 'object') return [node]
  return [node, ...node.members.flatMap((member) => nodesOf(member.value))]
}

function agrees(text: string): 'taken' | 'refused' {
  const node = readJson(text)
  const wanted = parsed(text)
  if (wanted === undefined) {
    expect(node, text).toBeUndefined()
    return 'refused'
  }
  expect(node, text).toBeDefined()
  expect(valueFrom(node!)).toEqual(wanted.value)
  for (const each of nodesOf(node!)) {
    expect(valueFrom(each)).toEqual(JSON.parse(text.slice(each.start, each.end)))
  }
  return 'taken'
}

const SPACED = fc
  .tuple(fc.jsonValue(), fc.constantFrom('', ' ', '\t', '\n  ', '\r\n'))
  .map(([value, space]) => `${space}${JSON.stringify(value, null, space)}${space}`)

const PIECES = [
  [
    '"',
    '\\',
    ',',
    ':',
    '{',
    '}',
    '[',
    ']',
    '-',
    '+',
    '.',
    'e',
    'E',
    '0',
    '1',
    '\\u00e9',
    '\\ud800',
  ],
  ['\\/', '\\x', '\\u12', 'null', 'true', 'nul', ' ', '\n', '\u00a0', '\ufeff', '\u2028', '\u0001'],
  ['"a":1', ',"a":2', '"__proto__":3', '1e999', '-0', '01', '1.', '.5', '1e5', '😀', '//', "'"],
].flat()

describe('the JSON reader', () => {
  it.each([
    ['{"a":1,"a":[2],"b":{"a":3}}'],
    ['{"__proto__":{"a":1},"constructor":null,"__proto__":2}'],
    ['-0'],
    ['1E-2'],
    ['1e999'],
    ['10000000000000000001'],
    ['"\\u0041\\n\\/\\ud800"'],
    ['"\u2028\u007f\ud800"'],
    [' [ ] '],
    ['{ }'],
    [''],
    [' '],
    ['\ufeff{}'],
    ['{,}'],
    ['[1,]'],
    ['[1 2]'],
    ['{"a"}'],
    ['{"a":}'],
    ['{a:1}'],
    ['01'],
    ['+1'],
    ['1.'],
    ['-'],
    ['.5'],
    ['nul'],
    ['truex'],
    ['"\\u12g4"'],
    ['"a\nb"'],
    ['"a'],
    ['"\\'],
    ['[1] 2'],
    ['['],
    ['{"a":1'],
    ['\u00a01'],
  ])('takes what JSON.parse takes: %j', (text) => {
    agrees(text)
  })

  it('reads any JSON, however it is spaced', () => {
    fc.assert(
      fc.property(SPACED, (text) => {
        expect(agrees(text)).toBe('taken')
      }),
      { numRuns: rounds(150, 500) },
    )
  })

  it('agrees with JSON.parse on damaged text', () => {
    const seen = { taken: 0, refused: 0 }
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      drop: fc.nat(2),
      add: fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 2 })),
    })
    fc.assert(
      fc.property(SPACED, fc.array(edit, { minLength: 1, maxLength: 2 }), (text, edits) => {
        let damaged = text
        for (const { at, drop, add } of edits) {
          const place = Math.floor(at * damaged.length)
          damaged = damaged.slice(0, place) + add + damaged.slice(place + drop)
        }
        seen[agrees(damaged)]++
      }),
      { numRuns: rounds(1000, 5000) },
    )
    expect(seen.taken).toBeGreaterThan(rounds(40, 200))
    expect(seen.refused).toBeGreaterThan(rounds(400, 2000))
  })

  it('does not read what is nested too deeply', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(readJson(nested(MAX_JSON_DEPTH))).toBeDefined()
    expect(readJson(nested(MAX_JSON_DEPTH + 1))).toBeUndefined()
    expect(readJson('{"a":'.repeat(100_000))).toBeUndefined()
  })

  it('does not read more values than it has room for', () => {
    const list = (length: number): string => `[${'0,'.repeat(length - 1)}0]`
    expect(readJson(list(MAX_JSON_VALUES - 1))).toBeDefined()
    expect(readJson(list(MAX_JSON_VALUES))).toBeUndefined()
  })

  it('takes time in proportion to the text', () => {
    // Each of them would take hours if any character were looked at again for each other one.
    const length = 2_000_000
    expect(readJson(`"${'a'.repeat(length)}`)).toBeUndefined()
    expect(readJson(`"${'\\n'.repeat(length)}"`)?.end).toBe(2 * length + 2)
    expect(readJson('1'.repeat(length))?.end).toBe(length)
    expect(readJson(' '.repeat(length))).toBeUndefined()
    expect(readJson(`{${'"a":1,'.repeat(9_000)}"a":2}`)?.kind).toBe('object')
  })
})
