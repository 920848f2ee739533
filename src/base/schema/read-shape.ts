import type { Static, TSchema } from 'typebox'
import { shortened } from '../text/foreign-text.ts'
import { isRecord } from '../values.ts'

/** A value from outside does not have the shape that its schema describes. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError'
}

/** The parts of a schema that decide what is read. */
interface Shape {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly patternProperties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
}

/**
 * Reads a JSON value from outside by its schema: unknown keys are left out, long strings and lists are
 * cut, and each string goes through `clean`. Throws a `ShapeError` that names the first key that is
 * missing or has another type.
 */
export function readShape<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  clean: (text: string) => string,
): Static<Schema> {
  return read(schema, value, { at: '', clean }) as Static<Schema>
}

interface Position {
  readonly at: string
  readonly clean: (text: string) => string
}

function read(shape: Shape, value: unknown, position: Position): unknown {
  if (!hasType(shape, value) || shape.enum?.includes(value) === false) {
    const at = position.at === '' ? 'the response' : position.at
    throw new ShapeError(`${at} is not what a sidecar sends`)
  }
  if (typeof value === 'string')
    return shape.enum === undefined ? cut(shape, value, position) : value
  if (Array.isArray(value)) {
    const { items = {}, maxItems } = shape
    const inside = { ...position, at: `${position.at}[]` }
    return value.slice(0, maxItems).map((item) => read(items, item, inside))
  }
  return isRecord(value) ? readObject(shape, value, position) : value
}

function readObject(
  { properties = {}, patternProperties = {}, required = [], maxProperties }: Shape,
  value: Readonly<Record<string, unknown>>,
  { at, clean }: Position,
): object {
  const found: [string, unknown][] = []
  const member = (key: string, shape: Shape): void => {
    const position = { at: at === '' ? clean(key) : `${at}.${clean(key)}`, clean }
    if (Object.hasOwn(value, key)) found.push([key, read(shape, value[key], position)])
    else if (required.includes(key)) throw new ShapeError(`${position.at} is missing`)
  }
  for (const [key, shape] of Object.entries(properties)) member(key, shape)
  for (const [pattern, shape] of Object.entries(patternProperties)) {
    const matching = Object.keys(value).filter((key) => new RegExp(pattern, 'u').test(key))
    for (const key of matching.slice(0, maxProperties)) member(key, shape)
  }
  return Object.fromEntries(found)
}

function cut({ maxLength = Infinity }: Shape, text: string, { clean }: Position): string {
  return clean(shortened(text, maxLength))
}

function hasType({ type, minimum = -Infinity }: Shape, value: unknown): boolean {
  if (typeof value === 'number' && !(Number.isFinite(value) && value >= minimum)) return false
  const types = typeof type === 'string' ? [type] : (type ?? [])
  return types.some((each) => {
    if (each === 'integer') return Number.isInteger(value)
    if (each === 'null') return value === null
    if (each === 'array') return Array.isArray(value)
    if (each === 'object') return isRecord(value)
    return each === typeof value
  })
}
