import { isRecord } from '../../../base/values.ts'
import { sameJson } from '../../../base/json/canonical-json.ts'
import { parsePointer, pointedAt } from '../../../base/json/json-pointer.ts'
import { SafeRegex } from '../../../base/regex/safe-regex.ts'

type Schema = Readonly<Record<string, unknown>>

/** Schemas come from servers: a check takes at most this many steps. */
const MAX_STEPS = 100_000
const MAX_DEPTH = 60

/** Keywords that decide about values, and that this check does not know. */
const UNKNOWN = [
  ...['not', 'if', 'contains', 'dependentSchemas', 'dependentRequired', 'dependencies'],
  ...['propertyNames', 'patternProperties', 'unevaluatedProperties', 'unevaluatedItems'],
  ...['additionalItems', 'minProperties', 'maxProperties', '$dynamicRef', '$recursiveRef'],
]

/** Thrown for a schema that this check cannot decide. */
const UNDECIDED = Symbol('undecided')

/**
 * Returns true when a changed value certainly fits a schema that the value before the change fits.
 * Parts that are unchanged are not looked at again, so that their schemas may use any keyword.
 */
export function stillFits(schema: unknown, after: unknown, before: unknown): boolean {
  try {
    return new SchemaFit(schema).fits(schema, after, before)
  } catch {
    // Invalid schemas throw errors of their own.
    return false
  }
}

/** Returns the lists of values that a schema allows in some place. */
export function enumsIn(schema: unknown): readonly (readonly unknown[])[] {
  const found: (readonly unknown[])[] = []
  const left: unknown[] = [schema]
  for (let steps = 0; left.length > 0 && steps < MAX_STEPS; steps++) {
    const each = left.pop()
    if (typeof each !== 'object' || each === null) continue
    const { enum: values, oneOf, anyOf } = each as Schema
    if (Array.isArray(values)) found.push(values)
    for (const branches of [oneOf, anyOf]) {
      if (Array.isArray(branches))
        found.push(
          branches.flatMap((one) => (isRecord(one) && 'const' in one ? [one['const']] : [])),
        )
    }
    left.push(...Object.values(each).slice(0, MAX_STEPS))
  }
  return found
}

class SchemaFit {
  readonly #root: unknown
  #steps = MAX_STEPS
  #depth = 0

  constructor(root: unknown) {
    this.#root = root
  }

  fits(schema: unknown, after: unknown, before?: unknown): boolean {
    if (schema === true || (before !== undefined && sameJson(before, after))) return true
    if (schema === false) return false
    if (!isRecord(schema) || this.#depth > MAX_DEPTH) throw UNDECIDED
    this.#take(1 + lengthOf(schema['enum']) + lengthOf(schema['required']))
    if (UNKNOWN.some((key) => Object.hasOwn(schema, key))) throw UNDECIDED
    this.#depth++
    const fits =
      this.#fitsBranches(schema, after, before) &&
      fitsValue(schema, after) &&
      (Array.isArray(after)
        ? this.#fitsItems(schema, after, before)
        : !isRecord(after) || this.#fitsMembers(schema, after, before))
    this.#depth--
    return fits
  }

  #fitsBranches(schema: Schema, after: unknown, before: unknown): boolean {
    const { $ref, allOf = [], anyOf, oneOf } = schema
    if (typeof $ref === 'string' && !this.fits(this.#referred($ref), after, before)) return false
    if (!(allOf as readonly unknown[]).every((each) => this.fits(each, after, before))) return false
    const fitting = (branches: unknown): number =>
      (branches as readonly unknown[]).filter((each) => this.fits(each, after)).length
    return (
      (anyOf === undefined || fitting(anyOf) > 0) && (oneOf === undefined || fitting(oneOf) === 1)
    )
  }

  #referred(ref: string): unknown {
    const keys = ref.startsWith('#') ? parsePointer(ref.slice(1)) : undefined
    const schema = keys && pointedAt(this.#root, keys)
    if (schema === undefined) throw UNDECIDED
    return schema
  }

  #fitsMembers(schema: Schema, after: Schema, before: unknown): boolean {
    const { properties = {}, additionalProperties = true, required = [] } = schema
    const known = isRecord(before) ? before : {}
    return (
      (required as readonly string[]).every((key) => Object.hasOwn(after, key)) &&
      Object.keys(after).every((key) => {
        const isNamed = Object.hasOwn(properties as Schema, key)
        const own = isNamed ? (properties as Schema)[key] : additionalProperties
        return this.fits(own, after[key], known[key])
      })
    )
  }

  #fitsItems(schema: Schema, after: readonly unknown[], before: unknown): boolean {
    const { items = true, prefixItems = [], minItems = 0, maxItems = Infinity } = schema
    const first = prefixItems as readonly unknown[]
    const known = Array.isArray(before) ? (before as readonly unknown[]) : []
    if (after.length < (minItems as number) || after.length > (maxItems as number)) return false
    if (schema['uniqueItems'] === true && !this.#areUnique(after)) return false
    return after.every((item, index) => this.fits(first[index] ?? items, item, known[index]))
  }

  #areUnique(items: readonly unknown[]): boolean {
    this.#take(items.length ** 2)
    return items.every((each, index) => !items.slice(0, index).some((one) => sameJson(one, each)))
  }

  #take(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw UNDECIDED
  }
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}

/** Checks the keywords of a value by itself. Formats are kept by those who change the value. */
function fitsValue(schema: Schema, value: unknown): boolean {
  const { type, enum: values } = schema
  if (type !== undefined && ![type].flat().some((each) => isOfType(value, each))) return false
  if (Array.isArray(values) && !values.some((each) => sameJson(each, value))) return false
  if ('const' in schema && !sameJson(schema['const'], value)) return false
  if (typeof value === 'number') return fitsNumber(schema, value)
  return typeof value !== 'string' || fitsText(schema, value)
}

function isOfType(value: unknown, type: unknown): boolean {
  if (value === null) return type === 'null'
  if (Array.isArray(value)) return type === 'array'
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function fitsNumber(schema: Schema, value: number): boolean {
  const { minimum = -Infinity, maximum = Infinity, multipleOf } = schema
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema
  return (
    value >= Number(minimum) &&
    value <= Number(maximum) &&
    value > Number(exclusiveMinimum) &&
    value < Number(exclusiveMaximum) &&
    (multipleOf === undefined || Number.isInteger(value / Number(multipleOf)))
  )
}

function fitsText(
  { minLength = 0, maxLength = Infinity, pattern }: Schema,
  value: string,
): boolean {
  const { length } = [...value]
  if (length < Number(minLength) || length > Number(maxLength)) return false
  if (pattern === undefined) return true
  try {
    return new SafeRegex(String(pattern)).test(value)
  } catch {
    return false
  }
}
