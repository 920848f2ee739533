import type { Static, TSchema } from 'typebox'
import { shortened } from '../../base/text/foreign-text.ts'
import { type Fields, isRecord } from '../../base/values.ts'

/** The keywords of the schemas here; others only describe. */
interface Shape {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly items?: Shape
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly patternProperties?: Readonly<Record<string, Shape>>
}

const isOfType: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isRecord,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

/** A JSON value does not fit its schema; the message names the key. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError'
}

/**
 * Copies a JSON value that fits its schema without what the schema does not name: unknown keys are
 * left out, long strings and lists are cut, and each string goes through `clean`. Throws a
 * `ShapeError` for a key that is missing or has another type.
 */
export function readShape<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  clean: (text: string) => string,
): Static<Schema> {
  return copy(schema, value, '', clean) as Static<Schema>
}

function copy(shape: Shape, value: unknown, at: string, clean: (text: string) => string): unknown {
  if (!fits(shape, value)) {
    throw new ShapeError(`${at === '' ? 'the response' : at} does not match the schema`)
  }
  const { items = {}, maxItems, maxLength = Infinity } = shape
  if (typeof value === 'string') {
    return shape.enum === undefined ? clean(shortened(value, maxLength)) : value
  }
  if (Array.isArray(value)) {
    return value.slice(0, maxItems).map((item) => copy(items, item, `${at}[]`, clean))
  }
  if (!isRecord(value)) return value
  const below = at === '' ? '' : `${at}.`
  const missing = shape.required?.find((key) => !Object.hasOwn(value, key))
  if (missing !== undefined) throw new ShapeError(`${below}${missing} is missing`)
  return Object.fromEntries(
    shapesIn(shape, value).map(([key, inner]) => [
      key,
      copy(inner, value[key], below + key, clean),
    ]),
  )
}

function fits({ type, enum: values, minimum = -Infinity }: Shape, value: unknown): boolean {
  const types = typeof type === 'string' ? [type] : (type ?? [])
  if (types.length > 0 && !types.some((name) => isOfType[name]!(value))) return false
  if (typeof value === 'number' && value < minimum) return false
  return values === undefined || values.includes(value)
}

/** Returns the shapes of the keys that the schema names. */
function shapesIn(
  { properties = {}, patternProperties = {}, maxProperties }: Shape,
  fields: Fields,
): [key: string, shape: Shape][] {
  const known = Object.entries(properties).filter(([key]) => Object.hasOwn(fields, key))
  for (const [pattern, inner] of Object.entries(patternProperties)) {
    const matching = Object.keys(fields).filter((key) => new RegExp(pattern, 'u').test(key))
    for (const key of matching.slice(0, maxProperties)) known.push([key, inner])
  }
  return known
}
