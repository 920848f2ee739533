import type { ValidateFunction } from 'ajv'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { FAULTS } from '../../src/filters/index.ts'
import { checkedNodes, wholeSchema } from '../../src/rules/checked-nodes.ts'
import { schemaKey } from '../../src/rules/rules-validator.ts'
import { SchemaChecker } from '../../src/rules/schema-findings.ts'
import { resolved } from '../../src/rules/schema-node.ts'
import type { SchemaNode } from '../../src/rules/schema-node.ts'
import { rulesJsonSchema } from '../../src/rules/schema.ts'
import { readYaml } from '../../src/rules/yaml-document.ts'
import { rounds } from '../support/rounds.ts'
import { mutated } from './mutated-text.ts'

/** The build makes them, in the place of the source file that has none. */
const BUILT = new URL('../../build/js/rules/made-validators.js', import.meta.url)
const LIMIT = 200

/** What is put in the place of each value: something of every type, and of each with a twist. */
const MISFITS: readonly unknown[] = [
  null,
  true,
  0,
  -1.5,
  1e300,
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
  JSON.parse('{"__proto__":{"a":1}}'),
]

const root = rulesJsonSchema()
let made: ReadonlyMap<string, ValidateFunction>
let asked: string[]
let atBuild: SchemaChecker
const atRunTime = new SchemaChecker(root, () => undefined)

beforeAll(async () => {
  made = ((await import(BUILT.href)) as { validators: typeof made }).validators
  asked = []
  atBuild = new SchemaChecker(root, (whole) => {
    const validator = made.get(schemaKey(whole))
    if (validator === undefined) asked.push(JSON.stringify(whole))
    return validator
  })
})

/** One assertion for many values: those that are not judged alike. */
function different(values: Iterable<unknown>): { count: number; wrong: number; unlike: unknown[] } {
  const told = { count: 0, wrong: 0, unlike: [] as unknown[] }
  for (const value of values) {
    const findings = JSON.stringify(atBuild.check(value, LIMIT))
    told.count++
    if (findings !== '[]') told.wrong++
    if (findings !== JSON.stringify(atRunTime.check(value, LIMIT))) told.unlike.push(value)
  }
  return told
}

/** Values for a node: misfits, what is just inside and outside of its bounds, and its members' in turn. */
function* probes(node: SchemaNode, seen: readonly string[] = []): Generator {
  const { $ref, anyOf, properties, patternProperties, items } = node
  if ($ref !== undefined) {
    if (!seen.includes($ref)) yield* probes(resolved(node, root.definitions), [...seen, $ref])
    return
  }
  yield* [...MISFITS, ...(node.examples ?? []), ...(node.enum ?? []), ...boundsOf(node)]
  for (const branch of anyOf ?? []) yield* probes(branch, seen)
  for (const [key, member] of Object.entries(properties ?? {})) {
    for (const value of probes(member, seen)) yield { [key]: value }
  }
  for (const member of Object.values(patternProperties ?? {})) {
    for (const key of ['', 'x', '/a', '💥']) yield { [key]: 'x' }
    for (const value of probes(member, seen)) yield { '/a': value, x: value }
  }
  if (items !== undefined) for (const value of probes(items, seen)) yield [value]
}

function boundsOf({ minimum, maximum, exclusiveMinimum, maxLength }: SchemaNode): unknown[] {
  const numbers = [minimum, maximum, exclusiveMinimum].filter((bound) => bound !== undefined)
  const lengths = maxLength === undefined ? [] : [maxLength, maxLength + 1]
  return [
    ...numbers.flatMap((bound) => [bound - 1, bound, bound + 1]),
    ...lengths.map((length) => 'a'.repeat(length)),
  ]
}

describe('the validators that the build makes', () => {
  it('are there for everything that a rules file is checked against', () => {
    const keys = checkedNodes(root).map((node) => schemaKey(wholeSchema(node, root.definitions)))
    expect(new Set(made.keys())).toEqual(new Set(keys))
  })

  it('find the same as those of the run time, whatever is wrong where', () => {
    const { count, wrong, unlike } = different(probes(root))
    expect(unlike.slice(0, 5)).toEqual([])
    expect(count).toBeGreaterThan(5000)
    expect(wrong).toBeGreaterThan(count / 2)
    expect(asked).toEqual([])
  })

  it.each(FAULTS.map(({ name, example }) => [name, example] as const))(
    'take a rule of %s as well',
    (_, example) => {
      const rules = parse(example ?? '') as unknown
      expect(different([{ rules }])).toEqual({ count: 1, wrong: 0, unlike: [] })
    },
  )

  it('find the same in damaged files and in any JSON value', () => {
    const values = [
      ...fc.sample(mutated, rounds(300, 3000)).map((text) => readYaml(text).value),
      ...fc.sample(fc.jsonValue({ maxDepth: 5 }), rounds(200, 2000)),
    ]
    const { unlike } = different(values)
    expect(unlike).toEqual([])
    expect(asked).toEqual([])
  })

  it('are not found for another schema', () => {
    const [file] = checkedNodes({ ...root, description: 'Another.' })
    expect(made.has(schemaKey(wholeSchema(file!, root.definitions)))).toBe(false)
  })
})
