import { isRecord } from '../../../base/values.ts'
import type { Schema } from './intersect-schemas.ts'
import type { Making } from './making.ts'

const MAX_ADDED = 100
/** The depth up to which optional values are added. */
const FILLED_DEPTH = 3

/** Makes an object for a schema without references and alternatives. */
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
    // Sampled for each, so that what is required does not change what comes after it.
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

/** A property of this name, also when it is `__proto__`. */
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
