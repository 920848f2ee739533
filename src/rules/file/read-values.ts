import { FORMATS } from './formats.ts'
import { branchFor, jsonType, resolved, type SchemaNode } from './schema-node.ts'

/**
 * Reads a value that fits its schema: durations, sizes and shares become numbers, and defaults are
 * filled in. What does not fit is left as it is.
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

/** An object of which nothing was written. */
export function fillDefaults(node: SchemaNode): unknown {
  return readValues(node, {}, undefined)
}

/** Makes a value and all in it unchangeable. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
  return value
}

/** The member of that name, unless it is inherited. */
export function own<T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}

/** A member of an object; undefined when it is none or has none of that name. */
export function memberOf(value: unknown, key: string): unknown {
  return jsonType(value) === 'object' ? own(value as Record<string, unknown>, key) : undefined
}

/** Sets a member also when it is called `__proto__`. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}
