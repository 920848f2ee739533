import { isRecord } from '../mcp/json-rpc.ts'
import { parsePointer, pointedAt } from '../mcp/json-pointer.ts'
import { makeNumber } from './make-number.ts'
import { makeText } from './make-text.ts'
import { intBetween, pick, type RandomSource } from './seeded-random.ts'

type Schema = Readonly<Record<string, unknown>>

const MAX_DEPTH = 12
const MAX_ITEMS = 100
/** How deep values that nothing requires are still added. */
const FILLED_DEPTH = 3

/** A value for a schema, and where to look for what it refers to. */
export function makeValue(
  schema: unknown,
  root: unknown,
  random: RandomSource,
  depth = 0,
): unknown {
  if (!isRecord(schema) || depth > MAX_DEPTH) return null
  const plain = flattened(schema, root, random)
  if ('const' in plain) return plain['const']
  const { enum: choices } = plain
  if (Array.isArray(choices) && choices.length > 0) return pick(random, choices as unknown[])
  const type = typeOf(plain, random)
  switch (type) {
    case 'object':
      return makeObject(plain, root, random, depth)
    case 'array':
      return makeArray(plain, root, random, depth)
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

/** References followed, one of the alternatives chosen, and all parts of `allOf` together. */
function flattened(schema: Schema, root: unknown, random: RandomSource): Schema {
  let flat = schema
  for (let round = 0; round < MAX_DEPTH; round++) {
    const { $ref, allOf, anyOf, oneOf, ...rest } = flat
    if (typeof $ref === 'string') flat = merged(rest, referred($ref, root))
    else if (Array.isArray(allOf)) flat = allOf.reduce<Schema>(merged, keep(rest, { anyOf, oneOf }))
    else if (Array.isArray(anyOf)) flat = merged(keep(rest, { oneOf }), alternative(anyOf, random))
    else if (Array.isArray(oneOf)) flat = merged(rest, alternative(oneOf, random))
    else return flat
  }
  return flat
}

function keep(rest: Schema, others: Schema): Schema {
  const defined = Object.entries(others).filter(([, value]) => value !== undefined)
  return { ...rest, ...Object.fromEntries(defined) }
}

/** Null is what many schemas allow beside the real thing: it is no load. */
function alternative(options: readonly unknown[], random: RandomSource): unknown {
  const real = options.filter((option) => isRecord(option) && option['type'] !== 'null')
  return pick(random, real.length > 0 ? real : options)
}

function merged(a: Schema, b: unknown): Schema {
  if (!isRecord(b)) return a
  const properties = { ...asRecord(b['properties']), ...asRecord(a['properties']) }
  const required = [...asArray(a['required']), ...asArray(b['required'])]
  return {
    ...b,
    ...a,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

function referred(ref: string, root: unknown): unknown {
  const keys = ref.startsWith('#') ? parsePointer(decodeURIComponent(ref.slice(1))) : undefined
  return keys === undefined ? undefined : pointedAt(root, keys)
}

function typeOf(schema: Schema, random: RandomSource): string {
  const { type } = schema
  if (typeof type === 'string') return type
  if (Array.isArray(type))
    return String(
      pick(
        random,
        type.filter((each) => each !== 'null'),
      ),
    )
  if (isRecord(schema['properties'])) return 'object'
  if ('items' in schema || 'prefixItems' in schema) return 'array'
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return 'number'
  return 'string'
}

function makeObject(schema: Schema, root: unknown, random: RandomSource, depth: number): unknown {
  const properties = asRecord(schema['properties'])
  const required = new Set(asArray(schema['required']))
  const value: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    // Drawn for each, so that what is required does not change what comes after it.
    const wanted = random() < 0.5
    if (!required.has(name) && (!wanted || depth >= FILLED_DEPTH)) continue
    put(value, name, makeValue(property, root, random, depth + 1))
  }
  for (const name of required) {
    if (typeof name !== 'string' || Object.hasOwn(value, name)) continue
    put(value, name, makeValue(asRecord(schema['additionalProperties']), root, random, depth + 1))
  }
  const least = Math.min(MAX_ITEMS, Number(schema['minProperties'] ?? 0))
  for (let i = 1; Object.keys(value).length < least; i++) put(value, `key${i}`, `value ${i}`)
  return value
}

/** A property of this name, also when it is `__proto__`. */
function put(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

function makeArray(schema: Schema, root: unknown, random: RandomSource, depth: number): unknown {
  const first = asArray(
    schema['prefixItems'] ?? (Array.isArray(schema['items']) && schema['items']),
  )
  const least = Math.max(first.length, Math.min(MAX_ITEMS, Number(schema['minItems'] ?? 1)))
  const most = Math.max(least, Math.min(least + 2, Number(schema['maxItems'] ?? least + 2)))
  const length = Math.min(intBetween(random, least, most), Number(schema['maxItems'] ?? Infinity))
  const items: unknown[] = first
    .slice(0, length)
    .map((each) => makeValue(each, root, random, depth + 1))
  const rest = isRecord(schema['items']) ? schema['items'] : { type: 'string' }
  const seen = new Set(items.map((item) => JSON.stringify(item)))
  for (let tries = 0; items.length < length && tries < length * 20; tries++) {
    const item = makeValue(rest, root, random, depth + 1)
    const text = JSON.stringify(item)
    if (schema['uniqueItems'] === true && seen.has(text)) continue
    seen.add(text)
    items.push(item)
  }
  return items
}

function asRecord(value: unknown): Schema {
  return isRecord(value) ? value : {}
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}
