import { intBetween, isRecord, parsePointer, pick, pointedAt, type RandomSource } from '#base'
import { LoadError } from '../load-error.ts'
import type { ToolInfo } from '../clients/load-client.ts'
import { schemaCheck } from './schema-check.ts'
import { type Contained, type Schema, intersected, normalized } from './intersect-schemas.ts'
import { makeText } from './make-text.ts'

/** Limits the attempts to generate arguments that fit. */
const MAX_ATTEMPTS = 50

/**
 * Returns a generator of arguments for a tool; equal random numbers give equal arguments. Throws a
 * `LoadError` when no arguments fit.
 */
export function argumentsFor(
  tool: Pick<ToolInfo, 'name' | 'inputSchema'>,
): (random: RandomSource) => Schema {
  const schema = isRecord(tool.inputSchema) ? tool.inputSchema : { type: 'object' }
  const fits = schemaCheck(schema) ?? ((): boolean => true)
  return (random) => {
    for (let i = 0; i < MAX_ATTEMPTS; i++) {
      const making = { root: schema, random, left: MAX_STEPS }
      const made = makePart({ type: 'object', ...schema }, making, 0)
      if (isRecord(made) && fits(made)) return made
    }
    throw new LoadError(
      'CANNOT_MAKE_ARGUMENTS',
      `cannot generate arguments that match the input schema of ${tool.name}`,
      'provide arguments in the --calls file',
    )
  }
}

const MAX_DEPTH = 12
/** Limits the values and schema parts of one generated value. */
const MAX_STEPS = 10_000

/** Generates a value for a schema. */
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

interface Making {
  /** The schema that references point into. */
  readonly root: unknown
  readonly random: RandomSource
  /** The remaining number of values and schema parts; bounded because the schema is untrusted. */
  left: number
}

const MAX_ADDED = 100
const FILLED_DEPTH = 3

/** Generates an object for a schema without references and alternatives. */
function makeObject(schema: Schema, making: Making, depth: number): unknown {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {}
  const required = new Set(namesIn(schema['required']))
  const others = isRecord(schema['additionalProperties']) ? schema['additionalProperties'] : {}
  const least = Math.min(MAX_ADDED, Number(schema['minProperties'] ?? 0))
  const most = Number(schema['maxProperties'] ?? Infinity)
  const value: Record<string, unknown> = {}
  const add = (name: string, of: unknown): void => put(value, name, makePart(of, making, depth + 1))
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
function makeArray(schema: Schema, making: Making, depth: number): unknown {
  const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : []
  const rest = isRecord(schema['items']) ? schema['items'] : undefined
  const contained = (schema['contained'] ?? []) as readonly Contained[]
  const unique = schema['uniqueItems'] === true
  const items: unknown[] = []
  const seen = new Set<string>()
  const add = (of: unknown): void => {
    for (let tries = 0; tries < TRIES; tries++) {
      const item = makePart(of, making, depth + 1)
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

const REACH = 100

/** Generates a number for a schema of type `number` or `integer`. */
function makeNumber(schema: Schema, whole: boolean, random: RandomSource): number {
  const multiple = numberOf(schema['multipleOf'])
  // Integers are multiples of 1; other numbers have two decimals.
  const step = multiple !== undefined && multiple > 0 ? stepOf(multiple, whole) : whole ? 1 : 0.01
  const [low, high] = boundsOf(schema, step)
  const first = Math.ceil(low / step - 1e-9)
  const last = Math.floor(high / step + 1e-9)
  const chosen = (first + Math.floor(random() * Math.max(1, last - first + 1))) * step
  // Avoids the rounding errors of multiples of fractions.
  return Number(chosen.toPrecision(12))
}

function stepOf(multiple: number, whole: boolean): number {
  if (!whole || Number.isInteger(multiple)) return multiple
  for (let times = 2; times <= 1000; times++) {
    const step = Number((multiple * times).toPrecision(12))
    if (Number.isInteger(step)) return step
  }
  return multiple
}

function boundsOf(schema: Schema, step: number): [number, number] {
  const { exclusiveMinimum, exclusiveMaximum } = schema
  let low = numberOf(schema['minimum'])
  let high = numberOf(schema['maximum'])
  // In draft 4 the exclusive bounds are booleans.
  if (exclusiveMinimum === true && low !== undefined) low += step
  if (exclusiveMaximum === true && high !== undefined) high -= step
  const above = numberOf(exclusiveMinimum)
  const below = numberOf(exclusiveMaximum)
  if (above !== undefined) low = Math.max(low ?? -Infinity, beyond(above, step, 1))
  if (below !== undefined) high = Math.min(high ?? Infinity, beyond(below, step, -1))
  if (low === undefined) return high === undefined ? [1, REACH] : [high - REACH, high]
  return [low, high ?? Math.max(low, 0) + REACH]
}

/** Returns the nearest multiple of the step, excluding the bound itself. */
function beyond(bound: number, step: number, direction: 1 | -1): number {
  const at = bound / step
  return (direction === 1 ? Math.floor(at + 1e-9) + 1 : Math.ceil(at - 1e-9) - 1) * step
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
