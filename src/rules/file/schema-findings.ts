import type { ErrorObject, ValidateFunction } from 'ajv'
import { parsePointer } from '../../base/json/json-pointer.ts'
import { FORMATS } from './formats.ts'
import type { Finding } from './problem.ts'
import { fieldOf, readValues } from './read-values.ts'
import { findingOf } from './schema-messages.ts'
import { branchFor, jsonType, type SchemaNode } from './schema-node.ts'
import { nearestKeyAlone } from './unknown-key.ts'

/** A check that was compiled from a schema, and the nodes of that schema. */
interface Check {
  readonly schema: SchemaNode
  readonly validate: ValidateFunction
}

/** The schema of a kind of file, and its checks. */
export interface FileSchema {
  readonly root: SchemaNode
  readonly file: Check
  /** Checks a file that has one rule; undefined for files without rules. */
  readonly rule: Check | undefined
}

/** A module that `scripts/lib/compile-schemas.mjs` made. */
interface Compiled {
  readonly schema: SchemaNode
  readonly makeCheck: (require: (name: string) => object) => ValidateFunction
}

/** Only the first error with one of these is reported for a value. */
const ABOUT_TEXT: ReadonlySet<string> = new Set(['format', 'pattern', 'minLength', 'maxLength'])
/**
 * One hostile rule may have many thousands of violations: at most this many limits are reported.
 */
const MOST_IN_ONE = 5

/** Returns a schema with its compiled checks; `rule` for files that have rules. */
export function fileSchema(root: object, file: Compiled, rule?: Compiled): FileSchema {
  return { root, file: checkOf(file), rule: rule && checkOf(rule) }
}

function checkOf({ schema, makeCheck }: Compiled): Check {
  const validate = makeCheck((name) => (name === 'formats' ? formatChecks() : { default: length }))
  return { schema, validate }
}

function formatChecks(): object {
  const checks = Object.entries(FORMATS).map(([name, format]) => [
    name,
    (text: string) => format.problem(text) === undefined,
  ])
  return Object.fromEntries(checks) as object
}

/** Counts characters, some of which have two code units. */
function length(text: string): number {
  let characters = 0
  for (const _ of text) characters++
  return characters
}

/**
 * Returns the violations of a whole file, each once and in the user's terms. Rules are checked one
 * by one, until there are about `limit` violations.
 */
export function schemaFindings(
  value: unknown,
  { root, file, rule }: FileSchema,
  limit: number,
): readonly Finding[] {
  const most = MOST_IN_ONE * limit
  const rules = fieldOf(value, 'rules')
  if (rule === undefined || !Array.isArray(rules)) return findingsOf(value, file, root, most)
  const findings = [...findingsOf({ ...(value as object), rules: [] }, file, root, most)]
  for (const [index, each] of rules.entries()) {
    if (findings.length >= limit) break
    findings.push(...findingsOf({ rules: [each] }, rule, root, most, index))
  }
  return findings
}

/** Returns the violations of another kind of file, where only rules have the hints for rules. */
export function ownFindings(value: unknown, schema: FileSchema, limit: number): readonly Finding[] {
  return schemaFindings(value, schema, limit).map((each) =>
    schema.rule !== undefined && each.path[0] === 'rules' ? each : nearestKeyAlone(each),
  )
}

/** Reads a file by its schema, as `readValues` does. */
export function readBySchema(value: unknown, { root }: FileSchema): unknown {
  return readValues(root, value, root.definitions)
}

/** With `index`, the value has one rule, with this index in the file. */
function findingsOf(
  value: unknown,
  { schema: { definitions }, validate }: Check,
  root: SchemaNode,
  most: number,
  index?: number,
): readonly Finding[] {
  if (validate(value)) return []
  const errors = validate.errors ?? []
  // The check would keep the file alive by its errors.
  validate.errors = null
  const unions = new Set<string>()
  for (const { keyword, instancePath } of errors) if (keyword === 'anyOf') unions.add(instancePath)
  const findings = new Map<string, Finding>()
  for (const error of errors) {
    if (findings.size >= most) break
    if (!isMeant(error, unions, definitions)) continue
    const { keyword, instancePath, params, data } = error
    const path = pathOf(instancePath, value)
    if (index !== undefined) path[1] = index
    const key: unknown = params['additionalProperty'] ?? params['missingProperty']
    const node = error.parentSchema as SchemaNode
    const finding = findingOf({ keyword, node, value: data, path, key }, root, definitions)
    const once = `${instancePath}\n${ABOUT_TEXT.has(keyword) ? '' : finding.message}`
    if (!findings.has(once)) findings.set(once, finding)
  }
  return [...findings.values()]
}

/**
 * False for errors of the branches of a union that are for other types: a union has one branch for
 * each type, and is itself an error when none is for the type. False for an enum of another type,
 * too.
 */
function isMeant(
  { keyword, parentSchema, data, instancePath }: ErrorObject,
  unions: ReadonlySet<string>,
  definitions: SchemaNode['definitions'],
): boolean {
  const { anyOf = [], type = [] } = parentSchema as SchemaNode
  if (keyword === 'anyOf') return branchFor(anyOf, data, definitions) === undefined
  const isUnion = unions.has(instancePath)
  if (keyword !== 'enum' && !(keyword === 'type' && isUnion)) return true
  const found = jsonType(data)
  const isOf = (each: string): boolean =>
    each === found ||
    (each === 'integer' && (keyword === 'type' ? found === 'number' : Number.isInteger(data)))
  return [type].flat().some(isOf)
}

/** Returns an instance path as keys, and as indexes where the value has a list. */
function pathOf(instancePath: string, value: unknown): (string | number)[] {
  let at = value
  return (parsePointer(instancePath) ?? []).map((key) => {
    const step = Array.isArray(at) ? Number(key) : key
    at = (at as Readonly<Record<string, unknown>>)[key]
    return step
  })
}
