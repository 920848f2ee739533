import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { argumentsFor } from '../../src/load/make-arguments.ts'
import { schemaCheck } from '../../src/load/schema-check.ts'
import { seededRandom } from '../../src/load/seeded-random.ts'

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

test('tools whose schemas have the same $id are told apart', () => {
  const schema = (type: string): object => ({ $id: 'urn:same', ...object({ x: { type } }) })
  const [text, number] = ['string', 'integer'].map((type) =>
    argumentsFor({ name: type, inputSchema: schema(type) }),
  )
  expect(typeof text!(seededRandom(1))['x']).toBe('string')
  expect(typeof number!(seededRandom(1))['x']).toBe('number')
})
