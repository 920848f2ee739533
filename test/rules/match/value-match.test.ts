import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, MAX_CANONICAL_DEPTH, sameJson } from '../../../src/base/values.ts'
import { parsePointer, pointedAt } from '../../../src/base/json/json-pointer.ts'
import { parseProtocolVersionRange } from '../../../src/rules/file/protocol-version-range.ts'
import { compileValue, matchesValue } from '../../../src/rules/match/value-match.ts'

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

/** The same value with the keys of all its objects the other way round. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, turned(inner)]),
  )
}

describe('canonical JSON', () => {
  it('is one spelling, whatever the order of keys, and reads back as the value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const value: unknown = JSON.parse(text)
        expect(canonicalJson(turned(value))).toBe(canonicalJson(value))
        expect(sameJson(JSON.parse(canonicalJson(value)), value)).toBe(true)
        expect(sameJson(turned(value), value)).toBe(true)
      }),
    )
  })

  it('differs where values differ', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.json({ maxDepth: 3 }), (a, b) => {
        const [left, right] = [JSON.parse(a), JSON.parse(b)] as [unknown, unknown]
        expect(canonicalJson(left) === canonicalJson(right)).toBe(sameJson(left, right))
      }),
    )
  })

  it('orders keys by their UTF-16 code units', () => {
    const value = { '\ufb33': 1, '\u20ac': 2, '\r': 3, 1: 4, '😀': 5, ö: 6, a: -0 }
    expect(canonicalJson(value)).toBe('{"\\r":3,"1":4,"a":0,"ö":6,"€":2,"😀":5,"\ufb33":1}')
  })

  it('survives any depth', () => {
    expect(canonicalJson(nested(MAX_CANONICAL_DEPTH - 1))).toContain('1')
    expect(canonicalJson(nested(100_000))).toBe(`${'['.repeat(64)}null${']'.repeat(64)}`)
    expect(sameJson(nested(100_000), nested(100_000))).toBe(false)
  })
})

describe('a JSON pointer', () => {
  it('leads to the value of every key', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.jsonValue(), (a, b, value) => {
        const escape = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')
        const whole = JSON.parse(JSON.stringify([{ [a]: { [b]: value } }])) as unknown
        const keys = parsePointer(`/0/${escape(a)}/${escape(b)}`)
        // JSON.parse makes `__proto__` a key like any other; an object literal does not.
        fc.pre(a !== '__proto__' && b !== '__proto__')
        expect(pointedAt(whole, keys!)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('that is none is reported', () => {
    expect(['a', '/a~', '/~2', ' /a'].map(parsePointer)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(parsePointer('')).toEqual([])
  })
})

describe('a value match', () => {
  it.each([
    [{ not: { absent: true } }, undefined, false],
    [{ not: 'x' }, undefined, true],
    [{ present: false }, 1, false],
    [{ absent: false }, 1, true],
    [{}, undefined, true],
    [{ gt: 1, lt: 2 }, 1.5, true],
    [{ gt: 1 }, '2', false],
    [{ gt: 1 }, [2], false],
    [{ exact: null }, null, true],
    [{ exact: false }, 0, false],
    [{ prefix: '' }, 5, false],
    [{ contains: 'b', not: { suffix: 'c' } }, 'abc', false],
    [{ contains: 'b', not: { suffix: 'c' } }, 'ab', true],
  ] as const)('%j of %j is %s', (spec, value, expected) => {
    expect(matchesValue(compileValue(spec, 'json'), value)).toBe(expected)
  })
})

describe('a range of protocol versions', () => {
  it('that is none is reported', () => {
    for (const text of [
      '',
      'latest',
      '>=',
      '=>2025-06-18',
      '>=2025-6-18',
      '2025-06-18 or 2024-11-05',
      '>>2025-06-18',
    ]) {
      expect(parseProtocolVersionRange(text)).toBeUndefined()
    }
  })

  it('holds at its bounds as written', () => {
    const holds = (range: string) =>
      ['2025-03-26', '2025-06-18', '2025-11-25'].map((protocolVersion) =>
        parseProtocolVersionRange(range)!(protocolVersion),
      )
    expect(holds('>=2025-06-18')).toEqual([false, true, true])
    expect(holds('> 2025-06-18')).toEqual([false, false, true])
    expect(holds('<2025-06-18')).toEqual([true, false, false])
    expect(holds('<= 2025-06-18')).toEqual([true, true, false])
    expect(holds('=2025-06-18')).toEqual([false, true, false])
    expect(holds('>2025-03-26, <2025-11-25')).toEqual([false, true, false])
  })
})
