import fastJsonPatch, { type Operation } from 'fast-json-patch'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonPatch } from '../../src/injector/json-patch.ts'
import { rounds } from '../../../../test/support/rounds.ts'

const key = fc.constantFrom('a', 'b/c', 'd~1e', 'name', '', '0')
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(null, true, 0, 1, '', 'x'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    fc.array(fc.record({ name: fc.constantFrom('x', 'y', 'z'), value: tie('value') }), {
      maxLength: 4,
    }),
  ),
})).value

function applied(before: unknown, after: unknown): unknown {
  const document = JSON.parse(JSON.stringify(before)) as unknown
  const patch = JSON.parse(JSON.stringify(jsonPatch(before, after))) as Operation[]
  return fastJsonPatch.applyPatch<unknown>(document, patch, true).newDocument
}

describe('a patch between two values', () => {
  it('turns the one into the other, whatever they are', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        const [before, after] = [one, other].map(
          (each) => JSON.parse(JSON.stringify({ each })) as unknown,
        )
        expect(applied(before, after)).toStrictEqual(after)
        expect(jsonPatch(before, structuredClone(before))).toEqual([])
      }),
      { numRuns: rounds(250, 1000) },
    )
  })

  it('adds parents together with what is in them', () => {
    expect(jsonPatch({ metadata: {} }, { metadata: { annotations: { 'a/b': 'x' } } })).toEqual([
      { op: 'add', path: '/metadata/annotations', value: { 'a/b': 'x' } },
    ])
    expect(jsonPatch({ list: null }, { list: [1] })).toEqual([
      { op: 'replace', path: '/list', value: [1] },
    ])
  })

  it('moves nothing that stays: elements are known by their names', () => {
    const before = { c: [{ name: 'app', a: 1 }, { name: 'b' }] }
    const after = { c: [{ name: 'new' }, { name: 'app', a: 2 }, { name: 'b' }] }
    expect(jsonPatch(before, after)).toEqual([
      { op: 'add', path: '/c/0', value: { name: 'new' } },
      { op: 'replace', path: '/c/1/a', value: 2 },
    ])
  })

  it('replaces lists that are too long to compare', () => {
    const long = Array.from({ length: 300 }, (_, i) => ({ name: `n${i}` }))
    expect(jsonPatch({ long }, { long: long.slice(1) })).toHaveLength(1)
    expect(jsonPatch({ long }, { long: structuredClone(long) })).toEqual([])
  })
})
