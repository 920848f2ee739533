import { isRecord } from '../../../base/values.ts'
import { parsePointer, pointedAt } from '../../../base/json/json-pointer.ts'
import { type Contained, type Schema, intersected, normalized } from './intersect-schemas.ts'
import { makeNumber } from './make-number.ts'
import { makeText } from './make-text.ts'
import { type RandomSource, intBetween, pick } from '../../../base/seeded-random.ts'

const MAX_DEPTH = 12
/** Limits the values and schema parts of one generated value. */
const MAX_STEPS = 10_000

/** Generates a value for a schema; references point into `root`. */
export function makeValue(schema: unknown, root: unknown, random: RandomSource): unknown {
  const making: Making = {
    root,
    random,
    left: MAX_STEPS,
    make: (part, depth) => makePart(part, making, depth),
  }
  return makePart(schema, making, 0)
}

function makePart(schema: unknown, making: Making, depth: number): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH || --making.left < 0) return null
  const { random } = making
  const plain = flattened(schema, making, 0)
  if ('const' in plain) return plain['const']
  const { enum: choices } = plain
  if (Array.isArray(choices) && choices.length > 0) return pick(random, choices as unknown[])
  const type = typeOf(plain, random)
  switch (type) {
    case 'object':
      return makeObject(plain, making, depth)
    case 'array':
      return makeArray(plain, making, depth)
    case 'string':
      return makeText(plain, random)
    case 'integer':
    case 'number':
      return makeNumber(plain, type === 'integer', random)
    case 'boolean':
      return random() < 0.5
    default:
      return null
  }
}

/** Resolves references, chooses an alternative, and intersects the parts. */
function flattened(schema: Schema, making: Making, depth: number): Schema {
  const { $ref, allOf, anyOf, oneOf, ...rest } = schema
  const plain = normalized(rest)
  if (depth > MAX_DEPTH || --making.left < 0) return plain
  const parts: unknown[] = []
  if (typeof $ref === 'string') parts.push(referred($ref, making.root))
  if (Array.isArray(allOf)) parts.push(...(allOf as unknown[]))
  if (Array.isArray(anyOf)) parts.push(alternative(anyOf, making.random))
  if (Array.isArray(oneOf)) parts.push(alternative(oneOf, making.random))
  return parts
    .filter(isRecord)
    .reduce<Schema>((flat, part) => intersected(flat, flattened(part, making, depth + 1)), plain)
}

/** Many schemas allow null besides the real value; null makes no realistic load. */
function alternative(options: readonly unknown[], random: RandomSource): unknown {
  const real = options.filter((option) => isRecord(option) && option['type'] !== 'null')
  return pick(random, real.length > 0 ? real : options)
}

function referred(ref: string, root: unknown): unknown {
  const keys = ref.startsWith('#') ? parsePointer(decodeURIComponent(ref.slice(1))) : undefined
  return keys === undefined ? undefined : pointedAt(root, keys)
}

/** Infers the type from the other keywords of a schema. */
const SIGNS = [
  ['object', ['properties', 'required', 'additionalProperties', 'minProperties']],
  ['array', ['items', 'prefixItems', 'contained', 'minItems', 'maxItems', 'uniqueItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
] as const

function typeOf(schema: Schema, random: RandomSource): string {
  const { type } = schema
  if (typeof type === 'string') return type
  if (Array.isArray(type)) {
    const real = type.filter((each) => each !== 'null')
    return String(pick(random, real))
  }
  return SIGNS.find(([, keys]) => keys.some((key) => schema[key] !== undefined))?.[0] ?? 'string'
}

export interface Making {
  /** The schema that references point into. */
  readonly root: unknown
  readonly random: RandomSource
  /** The remaining number of values and schema parts; bounded because the schema is untrusted. */
  left: number
  readonly make: (schema: unknown, depth: number) => unknown
}

const MAX_ADDED = 100
const FILLED_DEPTH = 3

/** Generates an object for a schema without references and alternatives. */
export function makeObject(schema: Schema, making: Making, depth: number): unknown {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {}
  const required = new Set(namesIn(schema['required']))
  const others = isRecord(schema['additionalProperties']) ? schema['additionalProperties'] : {}
  const least = Math.min(MAX_ADDED, Number(schema['minProperties'] ?? 0))
  const most = Number(schema['maxProperties'] ?? Infinity)
  const value: Record<string, unknown> = {}
  const add = (name: string, of: unknown): void => put(value, name, making.make(of, depth + 1))
  let size = required.size
  for (const [name, property] of Object.entries(properties)) {
    // Sampled for every property, so that required properties do not change later random values.
    const wanted = making.random() < 0.5
    if (!required.has(name) && (!wanted || depth >= FILLED_DEPTH || size >= most)) continue
    if (!required.has(name)) size++
    add(name, property)
  }
  for (const name of required) if (!Object.hasOwn(value, name)) add(name, others)
  for (const [name, property] of Object.entries(properties)) {
    if (Object.keys(value).length >= least) break
    if (!Object.hasOwn(value, name)) add(name, property)
  }
  for (let i = 1; Object.keys(value).length < least; i++) add(`key${i}`, others)
  return value
}

/** Defines a property, also one named `__proto__`. */
function put(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

const MAX_ITEMS = 100
/** Limits the attempts to generate a unique item. */
const TRIES = 20

/** Generates an array for a schema without references and alternatives. */
export function makeArray(schema: Schema, making: Making, depth: number): unknown {
  const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : []
  const rest = isRecord(schema['items']) ? schema['items'] : undefined
  const contained = containedIn(schema)
  const unique = schema['uniqueItems'] === true
  const items: unknown[] = []
  const seen = new Set<string>()
  const add = (of: unknown): void => {
    for (let tries = 0; tries < TRIES; tries++) {
      const item = making.make(of, depth + 1)
      const text = JSON.stringify(item)
      if (unique && seen.has(text)) continue
      seen.add(text)
      items.push(item)
      return
    }
  }
  const length = lengthOf(schema, first.length, contained, making)
  for (const each of first.slice(0, length)) add(each)
  for (const each of contained) {
    const of = rest === undefined ? each.schema : { allOf: [rest, each.schema] }
    for (let i = 0; i < Math.min(MAX_ITEMS, each.least); i++) add(of)
  }
  for (let tries = 0; items.length < length && tries < length; tries++) {
    add(rest ?? { type: 'string' })
  }
  return items
}

function lengthOf(
  schema: Schema,
  first: number,
  contained: readonly Contained[],
  { random }: Making,
): number {
  const wanted = contained.reduce((sum, { least }) => sum + Math.min(MAX_ITEMS, least), first)
  const least = Math.max(wanted, Math.min(MAX_ITEMS, Number(schema['minItems'] ?? 1)))
  const most = Number(schema['maxItems'] ?? Infinity)
  // Further items could exceed `maxContains`.
  const bounded = contained.some((each) => each.most !== undefined)
  const room = bounded || schema['items'] === false ? 0 : 2
  return Math.min(intBetween(random, least, Math.max(least, Math.min(least + room, most))), most)
}

function containedIn({ contained }: Schema): readonly Contained[] {
  return (contained ?? []) as readonly Contained[]
}
