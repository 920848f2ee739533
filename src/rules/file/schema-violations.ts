import { FORMATS } from './formats.ts'
import type { Path } from './problem.ts'
import { branchFor, jsonType, resolved, type SchemaNode } from './schema-node.ts'

/** The keywords that a value can violate. `anyOf` is reported when no branch is for the value's type. */
export type Keyword =
  | 'additionalProperties'
  | 'anyOf'
  | 'enum'
  | 'exclusiveMinimum'
  | 'format'
  | 'maxItems'
  | 'maxLength'
  | 'maxProperties'
  | 'maximum'
  | 'minItems'
  | 'minLength'
  | 'minProperties'
  | 'minimum'
  | 'pattern'
  | 'required'
  | 'type'

/** One way in which a value does not fit its node. */
export interface Violation {
  readonly keyword: Keyword
  readonly node: SchemaNode
  readonly value: unknown
  readonly path: Path
  /** The key that is unknown or missing. */
  readonly key?: string
}

type Say = (keyword: Keyword, key?: string) => void
type Inside = (key: string | number, node: SchemaNode, member: unknown) => void

const expressions = new Map<string, RegExp>()

/**
 * All violations of a value, in the order of the schema. The schema is walked as it is: a process reads a
 * handful of rules, for which nothing that is compiled or generated first would pay.
 */
export function violationsOf(
  whole: unknown,
  schema: SchemaNode,
  definitions: SchemaNode['definitions'],
  base: Path,
): readonly Violation[] {
  const violations: Violation[] = []
  const path = [...base]
  const visit = (written: SchemaNode, value: unknown): void => {
    const node = resolved(written, definitions)
    const say: Say = (keyword, key) => {
      const violation = { keyword, node, value, path: [...path] }
      violations.push(key === undefined ? violation : { ...violation, key })
    }
    if (node.anyOf !== undefined) {
      const branch = branchFor(node.anyOf, value, definitions)
      if (branch === undefined) say('anyOf')
      else visit(branch, value)
      return
    }
    // Whatever else a node says is about values of its type.
    if (!hasType(node, value)) return say('type')
    const keyword = violationOf(node, value)
    if (keyword !== undefined) say(keyword)
    visitMembers(node, value, say, (key, inner, member) => {
      path.push(key)
      visit(inner, member)
      path.pop()
    })
  }
  visit(schema, whole)
  return violations
}

function visitMembers(node: SchemaNode, value: unknown, say: Say, inside: Inside): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    const { items } = node
    if (items !== undefined) value.forEach((each, index) => inside(index, items, each))
    return
  }
  const { required = [], properties = {}, patternProperties = {} } = node
  const members = value as Readonly<Record<string, unknown>>
  const patterns = Object.entries(patternProperties)
  for (const key of required) if (!Object.hasOwn(members, key)) say('required', key)
  if (node.additionalProperties === false) {
    for (const key of Object.keys(members)) {
      const isKnown = Object.hasOwn(properties, key) || patterns.some(([of]) => matches(of, key))
      if (!isKnown) say('additionalProperties', key)
    }
  }
  for (const [key, inner] of Object.entries(properties)) {
    if (Object.hasOwn(members, key)) inside(key, inner, members[key])
  }
  for (const [of, inner] of patterns) {
    for (const [key, member] of Object.entries(members)) {
      if (matches(of, key)) inside(key, inner, member)
    }
  }
}

function hasType({ type }: SchemaNode, value: unknown): boolean {
  const isIt = (wanted: string): boolean =>
    wanted === 'integer' ? Number.isInteger(value) : wanted === jsonType(value)
  // YAML has numbers that JSON has not.
  if (type === undefined) return true
  if (typeof value === 'number' && !Number.isFinite(value)) return false
  return typeof type === 'string' ? isIt(type) : type.some(isIt)
}

/** The first thing that a value by itself goes against. What follows it would say no more. */
function violationOf(node: SchemaNode, value: unknown): Keyword | undefined {
  if (typeof value === 'number') {
    if (value > (node.maximum ?? Infinity)) return 'maximum'
    if (value < (node.minimum ?? -Infinity)) return 'minimum'
    if (value <= (node.exclusiveMinimum ?? -Infinity)) return 'exclusiveMinimum'
  } else if (typeof value === 'string') {
    const { minLength, maxLength, pattern, format } = node
    if (maxLength !== undefined && value.length > maxLength && charactersIn(value) > maxLength) {
      return 'maxLength'
    }
    if (minLength !== undefined && charactersIn(value) < minLength) return 'minLength'
    if (pattern !== undefined && !matches(pattern, value)) return 'pattern'
    if (format !== undefined && FORMATS[format]?.problem(value) !== undefined) return 'format'
  } else if (Array.isArray(value)) {
    if (value.length > (node.maxItems ?? Infinity)) return 'maxItems'
    if (value.length < (node.minItems ?? 0)) return 'minItems'
  } else if (typeof value === 'object' && value !== null) {
    const { length } = Object.keys(value)
    if (length > (node.maxProperties ?? Infinity)) return 'maxProperties'
    if (length < (node.minProperties ?? 0)) return 'minProperties'
  }
  return node.enum?.includes(value) === false ? 'enum' : undefined
}

/** Some characters are written in two units. */
function charactersIn(text: string): number {
  let characters = 0
  for (const _ of text) characters++
  return characters
}

function matches(pattern: string, text: string): boolean {
  let expression = expressions.get(pattern)
  if (expression === undefined) {
    // Any character is any, a line break too: a key that no pattern takes would not be checked.
    expression = new RegExp(pattern, 'su')
    expressions.set(pattern, expression)
  }
  return expression.test(text)
}
