import { isRecord, sameJson } from '../../../base/values.ts'
import { parsePointer, pointedAt } from '../../../base/json/json-pointer.ts'
import { SafeRegex } from '../../../base/regex/safe-regex.ts'

type Fields = Readonly<Record<string, unknown>>
type List = readonly unknown[]

/** Schemas come from servers: a check takes at most this many steps. */
const MAX_STEPS = 100_000
const MAX_DEPTH = 60

/** Keywords that decide about values, and that this check does not know. */
const UNKNOWN = new Set(
  'not if contains dependentSchemas dependentRequired dependencies propertyNames patternProperties unevaluatedProperties unevaluatedItems prefixItems additionalItems minProperties maxProperties $dynamicRef $recursiveRef'.split(
    ' ',
  ),
)

/** A value and the schema that it is compared with. */
interface Place {
  readonly schema: Fields
  /** The value in this place before the change; undefined within alternatives. */
  readonly before: unknown
  readonly fits: (schema: unknown, value: unknown, before?: unknown) => boolean
  readonly take: (steps: number) => void
  readonly root: unknown
}

type Check = (rule: never, value: never, place: Place) => boolean

/** A check of the values of one type; others fit. */
function only<T>(
  is: (value: unknown) => value is T,
  holds: (value: T, rule: never, place: Place) => boolean,
): Check {
  return (rule: never, value: unknown, place) => !is(value) || holds(value, rule, place)
}

const isNumber = (value: unknown): value is number => typeof value === 'number'
const isText = (value: unknown): value is string => typeof value === 'string'
const isList = (value: unknown): value is List => Array.isArray(value)

/** The keywords that decide about a value. Formats are kept by those who change the value. */
const CHECKS = new Map<string, Check>(
  Object.entries<Check>({
    type: (rule: string | List, value) => [rule].flat().some((each) => isOfType(value, each)),
    enum: (rule: List, value, { take }) => {
      take(rule.length)
      return rule.some((each) => sameJson(each, value))
    },
    const: (rule, value) => sameJson(rule, value),
    minimum: only(isNumber, (value, rule) => value >= rule),
    maximum: only(isNumber, (value, rule) => value <= rule),
    exclusiveMinimum: only(isNumber, (value, rule) => value > rule),
    exclusiveMaximum: only(isNumber, (value, rule) => value < rule),
    multipleOf: only(isNumber, (value, rule) => Number.isInteger(value / rule)),
    minLength: only(isText, (value, rule) => Array.from(value).length >= rule),
    maxLength: only(isText, (value, rule) => Array.from(value).length <= rule),
    pattern: only(isText, (value, rule) => new SafeRegex(rule).test(value)),
    minItems: only(isList, ({ length }, rule) => length >= rule),
    maxItems: only(isList, ({ length }, rule) => length <= rule),
    uniqueItems: only(isList, (value, rule, { take }) => {
      take(value.length ** 2)
      return !rule || !value.some((a, i) => value.slice(0, i).some((b) => sameJson(a, b)))
    }),
    items: only(isList, (value, rule, { fits, before }) =>
      value.every((each, i) => fits(rule, each, (before as List | undefined)?.[i])),
    ),
    required: only(isRecord, (value, rule: List, { take }) => {
      take(rule.length)
      return rule.every((key) => Object.hasOwn(value, key as string))
    }),
    properties: only(isRecord, (value, rule: Fields, { fits, before }) =>
      Object.keys(value).every(
        (key) =>
          !Object.hasOwn(rule, key) ||
          fits(rule[key], value[key], (before as Fields | undefined)?.[key]),
      ),
    ),
    additionalProperties: only(isRecord, (value, rule, { fits, before, schema }) =>
      Object.keys(value).every(
        (key) =>
          Object.hasOwn(schema['properties'] ?? {}, key) ||
          fits(rule, value[key], (before as Fields | undefined)?.[key]),
      ),
    ),
    $ref: (rule: string, value, { fits, before, root }) =>
      fits(pointedAt(root, parsePointer(rule.slice(1))!), value, before),
    allOf: (rule: List, value, { fits, before }) => rule.every((each) => fits(each, value, before)),
    anyOf: (rule: List, value, { fits }) => rule.filter((each) => fits(each, value)).length > 0,
    oneOf: (rule: List, value, { fits }) => rule.filter((each) => fits(each, value)).length === 1,
  }),
)

/**
 * Returns true when a changed value certainly fits a schema that the value before the change fits.
 * Parts that are unchanged are not looked at again, so that their schemas may use any keyword.
 */
export function stillFits(root: unknown, changed: unknown, original: unknown): boolean {
  let left = MAX_STEPS
  let depth = 0
  const take = (steps: number): void => {
    if ((left -= steps) < 0) throw new RangeError('the schema is too complex')
  }
  const fits: Place['fits'] = (schema, value, before) => {
    if (schema === true || (before !== undefined && sameJson(before, value))) return true
    if (schema === false) return false
    take(depth > MAX_DEPTH || !isRecord(schema) ? Infinity : 1)
    const place = { schema: schema as Fields, before, fits, take, root }
    depth++
    const does = Object.entries(place.schema).every(([key, rule]) => {
      if (UNKNOWN.has(key)) take(Infinity)
      return CHECKS.get(key)?.(rule as never, value as never, place) ?? true
    })
    depth--
    return does
  }
  try {
    return fits(root, changed, original)
  } catch {
    // Invalid schemas throw errors of their own.
    return false
  }
}

function isOfType(value: unknown, type: unknown): boolean {
  if (value === null) return type === 'null'
  if (Array.isArray(value)) return type === 'array'
  return type === 'integer' ? Number.isInteger(value) : typeof value === type
}

/** Returns the lists of values that a schema allows in some place. */
export function enumsIn(schema: unknown): readonly List[] {
  const found: List[] = []
  const left: unknown[] = [schema]
  for (let steps = 0; left.length > 0 && steps < MAX_STEPS; steps++) {
    const each = left.pop()
    if (typeof each !== 'object' || each === null) continue
    const { enum: values, oneOf, anyOf } = each as Fields
    for (const list of [values, constsOf(oneOf), constsOf(anyOf)]) {
      if (Array.isArray(list)) found.push(list)
    }
    for (const inner of Object.values(each)) left.push(inner)
  }
  return found
}

function constsOf(branches: unknown): List {
  if (!Array.isArray(branches)) return []
  return branches.flatMap((each) => (isRecord(each) && 'const' in each ? [each['const']] : []))
}
