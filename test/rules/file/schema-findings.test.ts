import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { planJsonSchema } from '../../../packages/experiments/src/experiment/plan-schema.ts'
import { FAULTS } from '../../../src/filters/index.ts'
import { FORMATS } from '../../../src/rules/file/formats.ts'
import * as check from '#checks/rules'
import { fileSchema, schemaFindings } from '../../../src/rules/file/schema-findings.ts'
import { resolved } from '../../../src/rules/file/schema-node.ts'
import type { SchemaNode } from '../../../src/rules/file/schema-node.ts'
import { rulesJsonSchema } from '../../../src/rules/file/schema.ts'
import { readYaml } from '../../../src/rules/file/yaml-document.ts'
import { rounds } from '../../support/rounds.ts'
import { ajvFindings } from '../ajv-findings.ts'
import { mutated } from '../mutated-text.ts'

/** Values of every type, plain and unusual, that replace each value. */
const VIOLATIONS: readonly unknown[] = [
  null,
  true,
  0,
  -1.5,
  1e300,
  Infinity,
  NaN,
  '',
  'x',
  '101%',
  '31d',
  '999h',
  'a*'.repeat(300),
  '(',
  '💥'.repeat(3000),
  [],
  [null, 'x', 7],
  {},
  { zzz: 1, delay: { fixd: 1 } },
  { [`${'z'.repeat(80)}1`]: 1, [`${'z'.repeat(80)}2`]: 2 },
  JSON.parse('{"__proto__":{"a":1}}'),
]

const root = rulesJsonSchema()
const compiled = fileSchema(root, check, check)
const byAjv = ajvFindings(root)

/** Returns, of every value or one in so many, those that are not judged alike. */
function different(
  values: Iterable<unknown>,
  one = 1,
): { count: number; wrong: number; unlike: unknown[] } {
  const reported = { count: 0, wrong: 0, unlike: [] as unknown[] }
  let at = 0
  for (const value of values) {
    if (at++ % one !== 0) continue
    const findings = JSON.stringify(schemaFindings(value, compiled, Infinity))
    reported.count++
    if (findings !== '[]') reported.wrong++
    if (findings !== JSON.stringify(byAjv(value))) reported.unlike.push(value)
  }
  return reported
}

/**
 * Values for a node: violations, what is just inside and outside of its bounds, and its members' in
 * turn.
 */
function* probes(node: SchemaNode, seen: readonly string[] = []): Generator {
  const { $ref, anyOf, properties, patternProperties, items } = node
  if ($ref !== undefined) {
    if (!seen.includes($ref)) yield* probes(resolved(node, root.definitions), [...seen, $ref])
    return
  }
  yield* [...VIOLATIONS, ...(node.examples ?? []), ...(node.enum ?? []), ...boundsOf(node)]
  for (const branch of anyOf ?? []) yield* probes(branch, seen)
  for (const [key, member] of Object.entries(properties ?? {})) {
    for (const value of probes(member, seen)) yield { [key]: value }
  }
  for (const member of Object.values(patternProperties ?? {})) {
    for (const key of ['', 'x', '/a', '💥', 'a\nb']) yield { [key]: 'x' }
    for (const value of probes(member, seen)) yield { '/a': value, x: value }
  }
  if (items !== undefined) for (const value of probes(items, seen)) yield [value]
}

function boundsOf(node: SchemaNode): unknown[] {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength } = node
  const { minItems, maxItems, minProperties, maxProperties } = node
  const numbers = around(minimum, maximum, exclusiveMinimum)
  const keys = (count: number): [string, null][] =>
    Array.from({ length: count }, (_, index) => [`x-${index}`, null])
  return [
    ...numbers,
    ...around(minLength, maxLength).flatMap((length) => [
      'a'.repeat(Math.max(0, length)),
      '💥'.repeat(Math.max(0, length)),
    ]),
    ...around(minItems, maxItems).map((length) => Array<string>(Math.max(0, length)).fill('a')),
    ...around(minProperties, maxProperties).map((count) => Object.fromEntries(keys(count))),
  ]
}

function around(...bounds: readonly (number | undefined)[]): readonly number[] {
  return bounds.flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound, bound + 1]))
}

describe('what does not fit the schema', () => {
  it('is what ajv finds with the schema of now, whatever is wrong where', () => {
    const { count, wrong, unlike } = different(probes(root), rounds(56, 1))
    expect(unlike.slice(0, 5)).toEqual([])
    expect(count).toBeGreaterThan(rounds(87, 5000))
    expect(wrong).toBeGreaterThan(count / 2)
  })

  it.each(FAULTS.map(({ name, example }) => [name, example] as const))(
    'is nothing in a rule of %s',
    (_, example) => {
      const rules = parse(example ?? '') as unknown
      expect(different([{ rules }])).toEqual({ count: 1, wrong: 0, unlike: [] })
    },
  )

  it('is the same in damaged files and in any JSON value', () => {
    const values = [
      ...fc.sample(mutated, rounds(75, 3000)).map((text) => readYaml(text).value),
      ...fc.sample(fc.jsonValue({ maxDepth: 5 }), rounds(50, 2000)),
    ]
    const { unlike } = different(values.filter((value) => value !== undefined))
    expect(unlike).toEqual([])
  })

  it('is reported about as many rules as there are errors to report', () => {
    const rules = Array.from({ length: 50 }, () => ({ nam: 'a' }))
    const all = schemaFindings({ rules }, compiled, Infinity)
    expect(schemaFindings({ rules }, compiled, 10)).toEqual(all.slice(0, 12))
  })

  it('is bounded in one rule', () => {
    const any = Array.from({ length: 4000 }, () => ({ tol: 'a' }))
    expect(schemaFindings({ rules: [{ match: { any } }] }, compiled, 10)).toHaveLength(50)
  })

  it.each([
    ['rules', root],
    ['experiments', planJsonSchema()],
  ])('is found by all that the schema of %s says', (_, schema) => {
    const said = new Set<string>()
    const visit = (node: SchemaNode): void => {
      const { properties, patternProperties, definitions, anyOf = [], items } = node
      for (const key of Object.keys(node)) said.add(key)
      // A union says all that there is to say.
      if (anyOf.length > 0) expect(node).not.toHaveProperty('type')
      if (node.format !== undefined) expect(FORMATS).toHaveProperty(node.format)
      const named = [properties, patternProperties, definitions].map((each) => each ?? {})
      for (const each of named.flatMap(Object.values<SchemaNode>)) visit(each)
      for (const each of items === undefined ? anyOf : [...anyOf, items]) visit(each)
    }
    visit(schema)
    const forPeople = ['$schema', 'title', 'description', 'examples', 'default', 'definitions']
    expect([...said].filter((key) => !forPeople.includes(key)).sort()).toEqual(CHECKED)
  })
})

const CHECKED = [
  '$ref',
  'additionalProperties',
  'anyOf',
  'enum',
  'exclusiveMinimum',
  'format',
  'items',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'pattern',
  'patternProperties',
  'properties',
  'required',
  'type',
]
