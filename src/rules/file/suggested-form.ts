import { stringify } from 'yaml'
import { parameterProblems } from '../../filters/lib/exclusive.ts'
import { FAULTS } from '../../filters/index.ts'
import { FORMATS } from './formats.ts'
import type { Path } from './problem.ts'
import { own, readValues } from './read-values.ts'
import { branchFor, jsonType, nodeAt, resolved, type SchemaNode } from './schema-node.ts'

type Definitions = SchemaNode['definitions']

/** The schema with its examples, and the definitions of the node that is violated. */
export interface Schema {
  readonly root: SchemaNode
  readonly definitions: Definitions
}

/** Longer values are not repeated. */
const MAX_REPEATED = 40
const ANY_FAULT = 'delay'

/**
 * Returns how to write a value that has to be an object or a list: with the value itself where it
 * fits.
 */
export function suggestedForm(
  node: SchemaNode,
  value: unknown,
  path: Path,
  { root, definitions }: Schema,
): string | undefined {
  const key = path.at(-1)
  if (typeof key !== 'string') return undefined
  if (path.length === 1 && key === 'rules') {
    return 'write each rule with a hyphen and its name: `- name: slow-search`'
  }
  if (node.type !== 'object' && ![node.type].flat().includes('array')) return undefined
  if (node.type !== 'object' && jsonType(value) === 'object') return hyphens(value as object)
  const isFault = path.length === 5 && path[2] === 'faults'
  const form = repeated(node, value, isFault ? key : undefined, definitions)
  const [example] = nodeAt(root, path)?.examples ?? []
  if (form !== undefined) return `write \`${isFault ? '- ' : ''}${key}: ${flow(form)}\``
  if (isFault) return likeFault(key)
  if (key === 'faults') return `for example \`faults: [${faultExample(String(value)).slice(2)}]\``
  return example === undefined ? undefined : like(key, example)
}

/** Returns how to write a fault with parameters. */
export function likeFault(name: string): string {
  return `for example \`${faultExample(name)}\``
}

/** Returns how to write a key that is missing, from its example. */
export function missingForm({ root }: Schema, path: Path, key: string): string | undefined {
  const [example] = nodeAt(root, [...path, key])?.examples ?? []
  return example === undefined ? undefined : like(key, example)
}

function like(key: string, example: unknown): string {
  return `for example \`${key}: ${flow(example)}\``
}

function flow(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
}

/** Returns the list entry of a fault as the reference shows it, or that of a common fault. */
function faultExample(name: string): string {
  const fault = FAULTS.find((each) => each.name === name)
  if (fault === undefined) return faultExample(ANY_FAULT)
  return fault.example.slice(fault.example.indexOf('- ', fault.example.indexOf('faults:')))
}

/** Returns a list of the value, or an object with the value under the first key that takes it. */
function repeated(
  node: SchemaNode,
  value: unknown,
  fault: string | undefined,
  definitions: Definitions,
): unknown {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > MAX_REPEATED) return undefined
  if (node.type !== 'object') return takes(node.items, value, definitions) ? [value] : undefined
  // A key in the place of its object says nothing of its value.
  if (own(node.properties, text) !== undefined) return undefined
  const properties = Object.entries(node.properties ?? {})
  // Keys of a match take any text: a text with a slash is a path, and another one the name of a
  // tool.
  const likely = text.startsWith('/') ? 'path' : 'tool'
  const inOrder = [...properties.filter(([key]) => key === likely), ...properties]
  for (const [key, property] of inOrder) {
    const form = { [key]: value }
    const isWhole = node.required?.every((each) => each === key) !== false
    if (isWhole && takes(property, value, definitions) && isComplete(form, fault)) return form
  }
  return undefined
}

function isComplete(form: object, name: string | undefined): boolean {
  const fault = FAULTS.find((each) => each.name === name)
  if (fault === undefined) return true
  const config = readValues(fault.schema as SchemaNode, form, undefined)
  return parameterProblems(fault, config).length === 0
}

/** Returns true when a scalar is valid. */
function takes(node: SchemaNode | undefined, value: unknown, definitions: Definitions): boolean {
  if (node === undefined) return false
  const schema = resolved(node, definitions)
  if (schema.anyOf !== undefined) {
    return takes(branchFor(schema.anyOf, value, definitions), value, definitions)
  }
  if (schema.enum !== undefined) return schema.enum.includes(value)
  if (typeof value === 'string') {
    const { type, format = '', pattern = '', minLength = 0, maxLength = Infinity } = schema
    const fits = value.length >= minLength && value.length <= maxLength
    const isRead = FORMATS[format]?.problem(value) === undefined
    return type === 'string' && fits && isRead && new RegExp(pattern, 'su').test(value)
  }
  if (typeof value !== 'number') return schema.type === jsonType(value)
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema
  const isNumber =
    schema.type === 'number' || (schema.type === 'integer' && Number.isInteger(value))
  return isNumber && value >= minimum && value <= maximum && value > exclusiveMinimum
}

function hyphens(value: object): string | undefined {
  const [first] = Object.keys(value)
  if (first === undefined || first.length > MAX_REPEATED) return undefined
  return `write each entry of the list with a hyphen: \`- ${first}: …\``
}
