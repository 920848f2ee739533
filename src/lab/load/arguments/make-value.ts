import { isRecord } from '../../../base/values.ts'
import { parsePointer, pointedAt } from '../../../base/json/json-pointer.ts'
import { intersected, normalized, type Schema } from './intersect-schemas.ts'
import { makeArray } from './make-array.ts'
import { makeNumber } from './make-number.ts'
import { makeObject } from './make-object.ts'
import type { Making } from './making.ts'
import { makeText } from './make-text.ts'
import { pick, type RandomSource } from '../../../base/seeded-random.ts'

const MAX_DEPTH = 12
/** Values and parts of schemas that one value may take. */
const MAX_STEPS = 10_000

/** Makes a value for a schema, in which references lead to parts of `root`. */
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

/** References followed, one of the alternatives chosen, and all of it intersected. */
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

/** Null is what many schemas allow beside the real thing: it is no load. */
function alternative(options: readonly unknown[], random: RandomSource): unknown {
  const real = options.filter((option) => isRecord(option) && option['type'] !== 'null')
  return pick(random, real.length > 0 ? real : options)
}

function referred(ref: string, root: unknown): unknown {
  const keys = ref.startsWith('#') ? parsePointer(decodeURIComponent(ref.slice(1))) : undefined
  return keys === undefined ? undefined : pointedAt(root, keys)
}

/** By what a schema says of values where it does not name their type. */
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
