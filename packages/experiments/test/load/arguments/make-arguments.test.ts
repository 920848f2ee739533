import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { argumentsFor } from '../../../src/load/arguments/make-arguments.ts'
import { schemaCheck } from '../../../src/load/arguments/schema-check.ts'
import { seededRandom } from '../../../../../src/base/seeded-random.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false })

const object = (properties: object, more: object = {}): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
})

const SCHEMAS: Readonly<Record<string, object>> = {
  nothing: { type: 'object' },
  enum: object({ unit: { enum: ['celsius', 'fahrenheit'] }, kind: { const: 'fixed' } }),
  bounds: object({
    a: { type: 'integer', minimum: 5, maximum: 5 },
    b: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 },
    c: { type: 'integer', multipleOf: 7, minimum: 50, maximum: 60 },
    d: { type: 'integer', maximum: -3 },
    e: { type: 'integer', exclusiveMinimum: 10, exclusiveMaximum: 12 },
  }),
  texts: object({
    short: { type: 'string', maxLength: 2 },
    long: { type: 'string', minLength: 60 },
    code: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' },
    either: { type: 'string', pattern: '^(red|green) (one|two)s?$' },
  }),
  arrays: object({
    tags: { type: 'array', items: { type: 'string' }, minItems: 3, maxItems: 3, uniqueItems: true },
    pair: { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'boolean' }], items: false },
    none: { type: 'array', maxItems: 0 },
  }),
  nested: object({
    filter: object({ range: object({ from: { type: 'integer' }, to: { type: 'integer' } }) }),
  }),
  alternatives: object({
    id: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    at: { oneOf: [{ type: 'integer', minimum: 9 }, object({ name: { type: 'string' } })] },
    many: { type: ['string', 'null'] },
  }),
  references: {
    ...object({ user: { $ref: '#/$defs/user' } }, { additionalProperties: false }),
    $defs: {
      user: object({ name: { type: 'string' }, boss: { $ref: '#/$defs/name' } }),
      name: { type: 'string' },
    },
  },
  together: {
    type: 'object',
    allOf: [object({ a: { type: 'string' } }), object({ b: { type: 'integer' } })],
  },
  'together, bounds': object({
    a: {
      allOf: [
        { type: 'integer', minimum: 5, maximum: 50 },
        { minimum: 40, maximum: 90 },
      ],
    },
    b: { type: 'number', allOf: [{ exclusiveMinimum: 3 }, { maximum: 4.5 }, { type: 'integer' }] },
    c: {
      allOf: [
        { type: 'integer', multipleOf: 4 },
        { multipleOf: 6, minimum: 13, maximum: 24 },
      ],
    },
    d: { allOf: [{ type: 'string', minLength: 40 }, { maxLength: 42 }, { minLength: 2 }] },
    e: { allOf: [{ enum: ['a', 'b', 'c'] }, { enum: ['c', 'd'] }] },
    f: { allOf: [{ type: ['string', 'integer'] }, { type: ['number', 'null'] }] },
    g: {
      allOf: [
        { type: 'array', minItems: 3 },
        { maxItems: 3, items: { type: 'integer' } },
      ],
    },
    h: { enum: [1, 2], allOf: [{ type: 'integer' }, { const: 2 }] },
  }),
  'together, objects': object({
    a: {
      allOf: [
        object({ x: { type: 'integer', minimum: 5 } }),
        {
          properties: { x: { maximum: 6 }, y: { type: 'string' } },
          additionalProperties: false,
        },
        { properties: { y: { const: 'yes' }, z: { type: 'string' } } },
      ],
    },
    b: { allOf: [{ anyOf: [{ minimum: 3 }] }, { anyOf: [{ maximum: 4 }] }], type: 'integer' },
  }),
  'together, references': {
    ...object({ a: { allOf: [{ $ref: '#/$defs/low' }, { $ref: '#/$defs/high' }] } }),
    $defs: { low: { type: 'integer', minimum: 30 }, high: { maximum: 31 } },
  },
  'together, texts': object({
    a: {
      allOf: [
        { type: 'string', pattern: '^[a-z]+$' },
        { minLength: 12, maxLength: 20 },
      ],
    },
    b: { type: 'string', allOf: [{ pattern: '^[a-z-]+$' }, { pattern: '^x-' }] },
    c: { type: 'string', pattern: 'id', minLength: 30 },
  }),
  contains: object({
    a: { type: 'array', contains: { type: 'integer' } },
    b: { type: 'array', items: { type: 'integer' }, contains: { minimum: 7 }, minContains: 3 },
    c: { type: 'array', contains: { const: 'x' }, minContains: 2, maxContains: 2, minItems: 2 },
    d: { allOf: [{ contains: { const: 1 } }, { contains: { const: 2 } }], type: 'array' },
    e: { type: 'array', contains: { type: 'integer' }, minContains: 0, maxItems: 0 },
    f: { type: 'array', uniqueItems: true, contains: { enum: [1, 2, 3] }, minContains: 3 },
  }),
  recursive: {
    ...object({ tree: { $ref: '#/$defs/node' } }),
    $defs: {
      node: {
        type: 'object',
        properties: { label: { type: 'string' }, child: { $ref: '#/$defs/node' } },
        required: ['label'],
      },
    },
  },
  many: object({}, { minProperties: 3 }),
}

for (const [name, schema] of Object.entries(SCHEMAS)) {
  test(`arguments fit their schema: ${name}`, () => {
    const make = argumentsFor({ name, inputSchema: schema })
    const fits = ajv.compile(schema)
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const made = make(seededRandom(seed))
        expect(fits(made), JSON.stringify(made)).toBe(true)
        expect(make(seededRandom(seed))).toEqual(made)
      }),
      { numRuns: 40 },
    )
  })
}

test('a schema that grows with each reference is given up, and not followed without end', () => {
  const names = Array.from({ length: 12 }, (_, i) => `p${i}`)
  const again = Object.fromEntries(names.map((name) => [name, { $ref: '#' }]))
  for (const inputSchema of [
    object(again),
    { type: 'object', allOf: names.map(() => ({ $ref: '#' })), required: ['x'] },
  ]) {
    const make = argumentsFor({ name: 'hostile', inputSchema })
    const began = performance.now()
    try {
      make(seededRandom(1))
    } catch (error) {
      expect(error).toMatchObject({ code: 'CANNOT_MAKE_ARGUMENTS' })
    }
    expect(performance.now() - began).toBeLessThan(20_000)
  }
})

test('formats are written as they are meant', () => {
  const formats = ['date-time', 'date', 'email', 'uri', 'uuid', 'ipv4', 'hostname']
  const properties = Object.fromEntries(
    formats.map((format) => [format, { type: 'string', format }]),
  )
  const make = argumentsFor({
    name: 'formats',
    inputSchema: object(properties),
  })
  const made = make(seededRandom(3)) as Record<string, string>
  expect(Number.isNaN(Date.parse(made['date-time']!))).toBe(false)
  expect(made['date']).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  expect(made['email']).toMatch(/^\w+@example\.com$/)
  expect(URL.canParse(made['uri']!)).toBe(true)
  expect(made['uuid']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('a schema that nothing can fit is an error that names the way out', () => {
  const inputSchema = object({ x: { allOf: [{ const: 1 }, { type: 'string' }] } })
  const make = argumentsFor({ name: 'odd', inputSchema })
  expect(() => make(seededRandom(1))).toThrow(/odd.*--calls/)
})

test('an expression of a hostile schema does not choose how long a check takes', () => {
  const fits = schemaCheck(object({ x: { type: 'string', pattern: '^(a+)+$' } }))!
  expect(fits({ x: 'aaaa' })).toBe(true)
  // Some 2^40 steps for an engine that tries one way after another.
  expect(fits({ x: `${'a'.repeat(40)}!` })).toBe(false)
})

test('tools whose schemas have the same $id are distinguished', () => {
  const schema = (type: string): object => ({ $id: 'urn:same', ...object({ x: { type } }) })
  const [text, number] = ['string', 'integer'].map((type) =>
    argumentsFor({ name: type, inputSchema: schema(type) }),
  )
  expect(typeof text!(seededRandom(1))['x']).toBe('string')
  expect(typeof number!(seededRandom(1))['x']).toBe('number')
})
