import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  operationEdits,
  type JsonOperation,
} from '../../../../src/filters/lib/json/json-operation.ts'
import { splice } from '../../../../src/base/json/json-edit.ts'
import { find } from '../../../../src/base/json/json-node.ts'
import { readJson } from '../../../../src/base/json/json-text.ts'
import { rounds } from '../../../support/rounds.ts'

const KEYS = ['a', 'b', 'é"/'] as const
const space = fc.constantFrom('', '', ' ', '\n  ')
const scalar = fc.constantFrom(
  '1',
  '10000000000000000001',
  '1.50',
  '"x"',
  '"\\u0061\\/"',
  'null',
  'true',
)

/**
 * JSON texts with odd spacing, keys that come twice, and numbers that no serializer would write.
 */
const { text: JSON_TEXT } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc
      .array(fc.tuple(fc.constantFrom(...KEYS), space, tie('text')), { maxLength: 4 })
      .map((members) => {
        const all = members.map(
          ([key, pad, value]) => `${pad}${JSON.stringify(key)}${pad}: ${value}${pad}`,
        )
        return `{${all.join(',')}}`
      }),
    fc
      .array(fc.tuple(space, tie('text')), { maxLength: 4 })
      .map((items) => `[${items.map(([pad, value]) => pad + value).join(' ,')}]`),
  ),
}))

const lastKey = fc.constantFrom(...KEYS, '0', '1')
const innerKeys = fc.array(fc.oneof(lastKey, fc.constant('*')), { maxLength: 3 })
const keysWith = (last: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.tuple(innerKeys, last).map(([inner, end]) => [...inner, end])
const anyKeys = keysWith(fc.oneof(lastKey, fc.constant('*')))

const OPERATION: fc.Arbitrary<JsonOperation> = fc.oneof(
  fc.record({ kind: fc.constant('rename'), keys: keysWith(lastKey), to: lastKey }),
  fc.record({ kind: fc.constant('remove'), keys: anyKeys }),
  fc.record({ kind: fc.constant('set'), keys: anyKeys, json: scalar }),
  fc.record({
    kind: fc.constant('add'),
    keys: keysWith(fc.oneof(lastKey, fc.constant('-'))),
    json: scalar,
  }),
  fc.record({ kind: fc.constant('nullify'), keys: anyKeys }),
  fc.record({ kind: fc.constant('wrap'), keys: anyKeys, key: lastKey }),
)

type Values = Record<string, unknown>

/** The same change, made on values. */
function changed(value: unknown, operation: JsonOperation): unknown {
  const [first, ...rest] = operation.keys
  if (typeof value !== 'object' || value === null || first === undefined) return value
  const isList = Array.isArray(value)
  if (rest.length > 0) {
    const inner = { ...operation, keys: rest } as JsonOperation
    const each = Object.entries(value).map(([key, member]) => {
      return [key, first === '*' || first === key ? changed(member, inner) : member] as const
    })
    return isList ? each.map(([, member]) => member) : Object.fromEntries(each)
  }
  const entries = Object.entries(value)
  const isMeant = (key: string): boolean => first === '*' || first === key
  const mapped = (to: (member: unknown) => unknown): unknown => {
    const all = entries.map(([key, member]) => [key, isMeant(key) ? to(member) : member] as const)
    return isList ? all.map(([, member]) => member) : Object.fromEntries(all)
  }
  switch (operation.kind) {
    case 'rename': {
      if (isList || !Object.hasOwn(value, first) || first === operation.to) return value
      const { [first]: member, ...others } = value as Values
      return { ...others, [operation.to]: member }
    }
    case 'remove': {
      const kept = entries.filter(([key]) => !isMeant(key))
      return isList ? kept.map(([, member]) => member) : Object.fromEntries(kept)
    }
    case 'set':
      return mapped(() => JSON.parse(operation.json))
    case 'nullify':
      return mapped(() => null)
    case 'wrap':
      return mapped((member) => ({ [operation.key]: member }))
    case 'add':
      if (isList)
        return first === '-' ? [...(value as unknown[]), JSON.parse(operation.json)] : value
      return { [first]: JSON.parse(operation.json), ...value }
    case 'retype':
    default:
      return value
  }
}

function after(text: string, operation: JsonOperation): string {
  return splice(text, operationEdits(text, readJson(text)!, operation))
}

describe('an operation on a text', () => {
  it('comes to the same as on its values, and changes nothing else', () => {
    let effective = 0
    fc.assert(
      fc.property(JSON_TEXT, OPERATION, (text, operation) => {
        const root = readJson(text)!
        const edits = operationEdits(text, root, operation)
        const wanted = changed(JSON.parse(text), operation)
        expect(JSON.parse(splice(text, edits))).toEqual(wanted)
        // Where nothing changes for a reader, not a byte does.
        const isSame = isDeepStrictEqual(wanted, JSON.parse(text))
        if (edits.length > 0) effective++
        else expect(isSame).toBe(true)
        const around = find(root, operation.keys.slice(0, -1))
        for (const edit of edits) {
          expect(around.some(({ start, end }) => edit.start > start && edit.end < end)).toBe(true)
        }
      }),
      { numRuns: rounds(800, 4000) },
    )
    expect(effective).toBeGreaterThan(rounds(100, 500))
  })

  it.each<[string, JsonOperation, string]>([
    ['{"a" : 1 , "b":2}', { kind: 'rename', keys: ['a'], to: 'b' }, '{"b" : 1}'],
    ['{ "a":1 }', { kind: 'rename', keys: ['a'], to: 'é"' }, '{ "é\\"":1 }'],
    ['{"a":1,"a":2}', { kind: 'remove', keys: ['a'] }, '{}'],
    [
      '[{"a" :1},{"a": 2}]',
      { kind: 'wrap', keys: ['*', 'a'], key: 'v' },
      '[{"a" :{"v":1}},{"a": {"v":2}}]',
    ],
    ['{"a":  1e2}', { kind: 'retype', keys: ['a'], type: 'string' }, '{"a":  "1e2"}'],
    ['{"a":1}', { kind: 'set', keys: ['a'], json: '1' }, '{"a":1}'],
    ['{"a":1}', { kind: 'add', keys: ['a'], json: '2' }, '{"a":1}'],
  ])('of %s by %j', (text, operation, wanted) => {
    expect(after(text, operation)).toBe(wanted)
  })
})
