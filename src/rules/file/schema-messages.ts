import { FAULTS } from '../../filters/index.ts'
import { familiarFault, familiarHint } from './familiar-keys.ts'
import { FORMATS } from './formats.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { shownValue, type Finding, type Path } from './problem.ts'
import { resolved, type SchemaNode, branchFor, jsonType, nodeAt } from './schema-node.ts'
import { unknownKey } from './unknown-key.ts'
import { stringify } from 'yaml'
import { faultProblems } from './file-findings.ts'
import { own } from './read-values.ts'

/** Objects with more keys are described without their keys. */
const MAX_LISTED = 4

/** One violation of a schema node by a value. */
interface Violation {
  readonly keyword: string
  readonly node: SchemaNode
  readonly value: unknown
  readonly path: Path
  /** The key that is unknown or missing. */
  readonly key: unknown
}

/** Describes a violation to the author of the file. */
export function findingOf(
  { keyword, node, value, path, key }: Violation,
  root: SchemaNode,
  definitions: SchemaNode['definitions'],
): Finding {
  const found = shownValue(value)
  const schema = { root, definitions }
  switch (keyword) {
    case 'additionalProperties': {
      const unknown = String(key)
      return unknownKey([...path, unknown], unknown, Object.keys(node.properties ?? {}), root)
    }
    case 'required':
      return missingKey(schema, path, String(key))
    case 'anyOf':
      return noBranch(node.anyOf ?? [], value, path, definitions)
    case 'type':
      return wrongType(node, value, path, schema)
    case 'enum':
      return notAmong(node, value, path)
    case 'format':
    case 'pattern':
      return invalidText(node, value, path)
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return { code: 'out_of_range', message: `must be ${wants(node)}; got ${found}`, path, found }
    case 'minLength':
      return { code: 'invalid_value', message: 'must not be empty', path, found }
    case 'maxLength': {
      const message = `must have at most ${String(node.maxLength)} characters`
      return { code: 'out_of_range', message, path, found }
    }
    case 'minItems':
      return { code: 'invalid_value', message: 'the list must not be empty', path, found }
    case 'maxItems':
    case 'maxProperties': {
      if (isOneKeyed(node)) return oneKey(node, path, `got ${countOf(value)}`)
      const message = `must have at most ${node[keyword]} entries; got ${countOf(value)}`
      return { code: 'too_many', message, path }
    }
    default: // minProperties
      return isOneKeyed(node)
        ? oneKey(node, path, 'got none')
        : { code: 'invalid_value', message: 'must have at least one key', path, ...allowedIn(node) }
  }
}

/** Describes a key that is missing, with its example. */
function missingKey({ root }: Schema, path: Path, key: string): Finding {
  const [example] = nodeAt(root, [...path, key])?.examples ?? []
  const hint = example === undefined ? undefined : like(key, example)
  return { code: 'missing_key', message: `\`${key}\` is missing`, path, ...hinted(hint) }
}

/** Describes a value that matches no branch of a union. */
function noBranch(
  branches: readonly SchemaNode[],
  value: unknown,
  path: Path,
  definitions: SchemaNode['definitions'],
): Finding {
  const allowed = [...new Set(branches.map((branch) => wants(resolved(branch, definitions))))]
  return {
    code: 'wrong_type',
    message: `must be ${listed(allowed)}; got ${shownValue(value)}`,
    path,
    found: shownValue(value),
    allowed,
    ...hinted(unitHint(allowed, value)),
  }
}

function wrongType(node: SchemaNode, value: unknown, path: Path, schema: Schema): Finding {
  const finding = noBranch([node], value, path, schema.definitions)
  const form = suggestedForm(node, value, path, schema)
  if (value === null && node.type === 'object') {
    const nothing = 'this key has no value'
    return { ...finding, hint: form === undefined ? nothing : `${nothing}: ${form}` }
  }
  return { ...finding, ...hinted(form ?? finding.hint) }
}

function hinted(hint: string | undefined): { readonly hint?: string } {
  return hint === undefined ? {} : { hint }
}

function isFaultName(path: Path, value: unknown): value is string {
  return path.length === 4 && path[2] === 'faults' && typeof value === 'string'
}

/** Describes a fault written as its name alone that is unknown, or needs parameters. */
function faultByName(value: string, path: Path, plain: readonly string[]): Finding {
  const names = FAULTS.map(({ name }) => name)
  const near = nearestName(value, names)
  const isPlain = near !== undefined && plain.includes(near)
  const written = isPlain ? `did you mean \`${near}\`?` : near && likeFault(near)
  const hint = near === undefined ? (familiarFault(value) ?? familiarHint(value, false)) : written
  const found = shownValue(value)
  const isKnown = near !== undefined && !isPlain
  return {
    code: isKnown ? 'wrong_type' : 'unknown_fault',
    message: isKnown ? `\`${near}\` requires parameters` : `unknown fault ${found}`,
    path,
    found,
    allowed: names,
    ...hinted(hint),
  }
}

function notAmong(node: SchemaNode, value: unknown, path: Path): Finding {
  if (isFaultName(path, value)) return faultByName(value, path, (node.enum ?? []).map(String))
  if (node.format !== undefined) return noBranch([node], value, path, undefined)
  const allowed = (node.enum ?? []).map(String)
  const near = typeof value === 'string' ? nearestName(value, allowed) : undefined
  return {
    code: 'invalid_value',
    message: `must be ${listed(allowed)}; got ${shownValue(value)}`,
    path,
    found: shownValue(value),
    allowed,
    ...hinted(near && `did you mean \`${near}\`?`),
  }
}

function invalidText(node: SchemaNode, value: unknown, path: Path): Finding {
  const found = shownValue(value)
  const format = node.format === undefined ? undefined : FORMATS[node.format]
  const problem = typeof value === 'string' ? format?.problem(value) : undefined
  if (format === undefined || problem === undefined) {
    return { code: 'invalid_value', message: `must be ${wants(node)}; got ${found}`, path, found }
  }
  const message = problem.startsWith('not ') ? `must be ${format.wants}; got ${found}` : problem
  return { code: 'invalid_value', message, path, found }
}

/** Describes the values that a node accepts. */
function wants(node: SchemaNode): string {
  if (node.format !== undefined) return FORMATS[node.format]?.wants ?? 'a string'
  if (node.enum !== undefined) return listed(node.enum.map(String))
  const type = String([node.type].flat()[0])
  switch (type) {
    case 'integer':
      return `an integer${range(node)}`
    case 'number':
      return `a number${range(node)}`
    case 'string':
      return node.pattern === undefined ? 'a string' : patternInWords(node.pattern)
    case 'boolean':
      return 'true or false'
    case 'array':
      return 'a list'
    case 'null':
      return 'null'
    default:
      return node.properties === undefined || Object.keys(node.properties).length > MAX_LISTED
        ? 'an object'
        : `an object (${Object.keys(node.properties).join(', ')})`
  }
}

function range({ minimum, maximum, exclusiveMinimum }: SchemaNode): string {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  if (exclusiveMinimum !== undefined) {
    return bounded
      ? ` above ${exclusiveMinimum} and up to ${maximum}`
      : ` above ${exclusiveMinimum}`
  }
  if (minimum === undefined) return ''
  return bounded ? ` from ${minimum} to ${maximum}` : ` of at least ${minimum}`
}

function patternInWords(pattern: string): string {
  if (pattern === '^[1-5]xx$') return '5xx'
  return 'a name of letters, digits, "-", "_" and ".", that begins with a letter or digit'
}

function isOneKeyed({ minProperties, maxProperties }: SchemaNode): boolean {
  return minProperties === 1 && maxProperties === 1
}

function oneKey(node: SchemaNode, path: Path, found: string): Finding {
  return {
    code: 'invalid_value',
    message: `must have exactly one key; ${found}`,
    path,
    ...allowedIn(node),
  }
}

function allowedIn(node: SchemaNode): { readonly allowed?: readonly string[] } {
  return node.properties === undefined ? {} : { allowed: Object.keys(node.properties) }
}

function countOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

/**
 * Names the missing unit, or quotes: YAML reads `on: 3` as a number where the protocol has only
 * text.
 */
function unitHint(allowed: readonly string[], value: unknown): string | undefined {
  const isAllowed = (what: string): boolean => allowed.some((each) => each.startsWith(what))
  if (typeof value === 'string') {
    const isNumber = /^[0-9]{1,15}(\.[0-9]+)?$/.test(value)
    return isNumber && (isAllowed('an integer') || isAllowed('a number'))
      ? `write it without quotes: \`${value}\``
      : undefined
  }
  if (typeof value !== 'number' && typeof value !== 'boolean') return undefined
  if (isAllowed('a duration')) {
    const [short, long] = Number(value) > 0 ? [`${value}ms`, `${value}s`] : ['500ms', '2s']
    return `add the unit: \`${short}\` or \`${long}\``
  }
  return isAllowed('a string') ? `write it in quotes: "${String(value)}"` : undefined
}

function listed(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? 'something else'
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

type Definitions = SchemaNode['definitions']

/** The schema with its examples, and the definitions of the node that is violated. */
interface Schema {
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
function suggestedForm(
  node: SchemaNode,
  value: unknown,
  path: Path,
  { root, definitions }: Schema,
): string | undefined {
  const key = path.at(-1)
  if (typeof key !== 'string') return undefined
  if (path.length === 1 && key === 'rules') {
    return 'start each rule with a hyphen and its name: `- name: slow-search`'
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
function likeFault(name: string): string {
  return `for example \`${faultExample(name)}\``
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
    if (isWhole && takes(property, value, definitions) && faultProblems(fault, form).length === 0)
      return form
  }
  return undefined
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
