import { FORMATS } from './formats.ts'
import { branchFor, jsonType, resolved, type SchemaNode } from './schema-node.ts'

/**
 * Reads a value by its schema: durations, sizes and shares become numbers, and defaults are added.
 * Parts that violate the schema stay unchanged.
 */
export function readValues(
  node: SchemaNode,
  value: unknown,
  definitions: SchemaNode['definitions'],
): unknown {
  const schema = resolved(node, definitions)
  if (schema.anyOf !== undefined) {
    const branch = branchFor(schema.anyOf, value, definitions)
    return branch === undefined ? value : readValues(branch, value, definitions)
  }
  if (typeof value === 'string') {
    const read = schema.format === undefined ? undefined : FORMATS[schema.format]?.read
    return read?.(value) ?? value
  }
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((each) => readValues(items, each, definitions))
  }
  if (typeof value !== 'object' || value === null) return value
  const [ofEach] = Object.values(schema.patternProperties ?? {})
  if (ofEach === undefined && schema.properties === undefined) return value
  const result: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const of = own(schema.properties, key) ?? ofEach
    define(result, key, of === undefined ? member : readValues(of, member, definitions))
  }
  for (const [key, of] of Object.entries(schema.properties ?? {})) {
    if (of.default === undefined || Object.hasOwn(result, key)) continue
    define(result, key, readValues(of, structuredClone(of.default), definitions))
  }
  return result
}

/** Returns the object of defaults. */
export function fillDefaults(node: SchemaNode): unknown {
  return readValues(node, {}, undefined)
}

/** Returns an own member. */
export function own<T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}

/** Returns a member of an object; undefined for other values, or without the member. */
export function fieldOf(value: unknown, key: string): unknown {
  return jsonType(value) === 'object' ? own(value as Record<string, unknown>, key) : undefined
}

/** Sets a member, also `__proto__`. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}
