import { isRecord } from '#base'

export type Schema = Readonly<Record<string, unknown>>

/** Intersected schemas have lists of expressions and of `contains`. */
export interface Contained {
  readonly schema: unknown
  readonly least: number
  readonly most: number | undefined
}

type Join = (a: unknown, b: unknown) => unknown

const larger: Join = (a, b) =>
  typeof a === 'number' && typeof b === 'number' ? Math.max(a, b) : a === true || b
const smaller: Join = (a, b) =>
  typeof a === 'number' && typeof b === 'number' ? Math.min(a, b) : a === true || b
const united: Join = (a, b) => [...new Set([...itemsOf(a), ...itemsOf(b)])]
const joined: Join = (a, b) => [...itemsOf(a), ...itemsOf(b)]
const both: Join = (a, b) => {
  if (a === false || b === false) return false
  return isRecord(a) && isRecord(b) ? { allOf: [a, b] } : isRecord(a) ? a : b
}

const JOINS: Readonly<Record<string, Join>> = {
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  multipleOf: commonMultiple,
  required: united,
  enum: commonValues,
  type: commonTypes,
  uniqueItems: (a, b) => a === true || b === true,
  items: both,
  additionalProperties: both,
  prefixItems: inTurn,
  patterns: joined,
  contained: joined,
}

/** Converts a schema to the form of `intersected`: lists for keywords that can be repeated. */
export function normalized(schema: Schema): Schema {
  const { pattern, contains, minContains, maxContains, additionalItems, ...rest } = schema
  const { items } = rest
  const most = typeof maxContains === 'number' ? maxContains : undefined
  const least = typeof minContains === 'number' ? minContains : 1
  const contained: Contained = { schema: contains, least, most }
  return {
    ...rest,
    ...(Array.isArray(items) && { prefixItems: items as unknown[], items: additionalItems }),
    ...(typeof pattern === 'string' && { patterns: [pattern] }),
    ...(isRecord(contains) && { contained: [contained] }),
  }
}

/** Intersects two schemas, as far as generating values requires. */
export function intersected(a: Schema, b: Schema): Schema {
  const result: Record<string, unknown> = { ...b, ...a }
  for (const [key, join] of Object.entries(JOINS)) {
    if (a[key] !== undefined && b[key] !== undefined) result[key] = join(a[key], b[key])
    else if (a[key] === undefined && b[key] !== undefined) result[key] = b[key]
  }
  const properties = commonProperties(a, b)
  return properties === undefined ? result : { ...result, properties }
}

/**
 * Merges the properties of both; a schema without additional properties excludes those of the
 * other.
 */
function commonProperties(a: Schema, b: Schema): Schema | undefined {
  if (!isRecord(a['properties']) && !isRecord(b['properties'])) return undefined
  const ofA = isRecord(a['properties']) ? a['properties'] : {}
  const ofB = isRecord(b['properties']) ? b['properties'] : {}
  const names = [...new Set([...Object.keys(ofA), ...Object.keys(ofB)])]
  const entries = names.flatMap((name): [string, unknown][] => {
    const inA = Object.hasOwn(ofA, name)
    const inB = Object.hasOwn(ofB, name)
    if ((!inA && isClosed(a)) || (!inB && isClosed(b))) return []
    return [[name, inA && inB ? both(ofA[name], ofB[name]) : inA ? ofA[name] : ofB[name]]]
  })
  return Object.fromEntries(entries)
}

function isClosed({ additionalProperties, patternProperties }: Schema): boolean {
  return additionalProperties === false && patternProperties === undefined
}

function commonTypes(a: unknown, b: unknown): unknown {
  const ofB = new Set(namesOf(b))
  const common = namesOf(a).flatMap((type) => {
    if (ofB.has(type)) return [type]
    const whole = type === 'integer' ? 'number' : 'integer'
    return (type === 'integer' || type === 'number') && ofB.has(whole) ? ['integer'] : []
  })
  return common.length === 1 ? common[0] : common
}

function commonValues(a: unknown, b: unknown): unknown {
  const ofB = new Set(itemsOf(b).map((value) => JSON.stringify(value)))
  return itemsOf(a).filter((value) => ofB.has(JSON.stringify(value)))
}

function commonMultiple(a: unknown, b: unknown): unknown {
  if (typeof a !== 'number' || typeof b !== 'number' || !(a > 0 && b > 0)) return a
  for (let times = 1; times <= 1000; times++) {
    const multiple = Number((a * times).toPrecision(12))
    const quotient = multiple / b
    if (Math.abs(quotient - Math.round(quotient)) < 1e-9) return multiple
  }
  return a
}

function inTurn(a: unknown, b: unknown): unknown {
  const [ofA, ofB] = [itemsOf(a), itemsOf(b)]
  return Array.from({ length: Math.max(ofA.length, ofB.length) }, (_, i) =>
    i < ofA.length && i < ofB.length ? both(ofA[i], ofB[i]) : (ofA[i] ?? ofB[i]),
  )
}

function namesOf(type: unknown): readonly unknown[] {
  return typeof type === 'string' ? [type] : itemsOf(type)
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}
