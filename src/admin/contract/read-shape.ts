import type { Static, TSchema } from 'typebox'
import { shortened } from '../../base/text/foreign-text.ts'
import type { Fields } from '../../base/values.ts'

/** The parts of a schema that decide what is read. */
interface Shape {
  readonly enum?: readonly unknown[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly patternProperties?: Readonly<Record<string, Shape>>
}

/**
 * Copies a JSON value that fits its schema without what the schema does not name: unknown keys are
 * left out, long strings and lists are cut, and each string goes through `clean`.
 */
export function readShape<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  clean: (text: string) => string,
): Static<Schema> {
  return copy(schema, value, clean) as Static<Schema>
}

function copy(shape: Shape, value: unknown, clean: (text: string) => string): unknown {
  const { items = {}, maxItems, maxLength = Infinity } = shape
  if (typeof value === 'string') {
    return shape.enum === undefined ? clean(shortened(value, maxLength)) : value
  }
  if (Array.isArray(value)) return value.slice(0, maxItems).map((item) => copy(items, item, clean))
  if (typeof value !== 'object' || value === null) return value
  const { properties = {}, patternProperties = {}, maxProperties } = shape
  const known = Object.entries(properties).filter(([key]) => Object.hasOwn(value, key))
  for (const [pattern, inner] of Object.entries(patternProperties)) {
    const matching = Object.keys(value).filter((key) => new RegExp(pattern, 'u').test(key))
    for (const key of matching.slice(0, maxProperties)) known.push([key, inner])
  }
  return Object.fromEntries(
    known.map(([key, inner]) => [key, copy(inner, (value as Fields)[key], clean)]),
  )
}
