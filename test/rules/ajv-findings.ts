import { Ajv } from 'ajv'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { FORMATS } from '../../src/rules/file/formats.ts'
import type { Finding, Path } from '../../src/rules/file/problem.ts'
import { fieldOf } from '../../src/rules/file/read-values.ts'
import { findingOf } from '../../src/rules/file/schema-messages.ts'
import { branchFor } from '../../src/rules/file/schema-node.ts'
import type { SchemaNode } from '../../src/rules/file/schema-node.ts'

/** A text that is too long fits no pattern either: one violation. */
const ABOUT_TEXT: ReadonlySet<string> = new Set(['format', 'pattern', 'minLength', 'maxLength'])

/** Returns the findings of ajv in a file, in the same words, without the walk over the schema. */
export function ajvFindings(root: SchemaNode): (file: unknown) => readonly Finding[] {
  const { definitions } = root
  const compiler = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    // A test of the schema does that once; here it would be done for each part.
    validateSchema: false,
    code: { regExp: Object.assign((pattern: string) => new RegExp(pattern, 'su'), { code: '' }) },
    formats: Object.fromEntries(
      Object.entries(FORMATS).map(([name, format]) => [
        name,
        (text: string) => format.problem(text) === undefined,
      ]),
    ),
  })
  const compiled = new Map<SchemaNode, ValidateFunction>()

  function validator(node: SchemaNode): ValidateFunction {
    const known = compiled.get(node) ?? compiler.compile({ ...node, definitions })
    compiled.set(node, known)
    return known
  }

  function check(node: SchemaNode, value: unknown, base: Path): readonly Finding[] {
    const validate = validator(node)
    if (validate(value)) return []
    const errors = validate.errors ?? []
    const unions = new Map<string, ErrorObject>()
    for (const error of errors) if (error.keyword === 'anyOf') unions.set(error.instancePath, error)
    const told = new Map<string, readonly Finding[]>()
    for (const error of errors) {
      const path = [...base, ...pathOf(error.instancePath, value)]
      const union = prefixes(error.instancePath).find((each) => unions.has(each))
      if (union === undefined) {
        const finding = findingOf(violationOf(error, path), root, definitions)
        const what = ABOUT_TEXT.has(error.keyword) ? 'text' : finding.message
        const once = JSON.stringify([error.instancePath, what])
        if (!told.has(once)) told.set(once, [finding])
      } else if (unions.get(union) === error) {
        // The findings of a union come from the one branch that was meant.
        const branch = branchFor(error.schema as readonly SchemaNode[], error.data, definitions)
        const inBranch = branch === undefined ? [] : check(branch, error.data, path)
        const none = findingOf(violationOf(error, path), root, definitions)
        told.set(JSON.stringify([union]), inBranch.length === 0 ? [none] : inBranch)
      }
    }
    return [...told.values()].flat()
  }

  return (file) => {
    const rules = fieldOf(file, 'rules')
    if (!Array.isArray(rules)) return check(root, file, [])
    const ruleNode = definitions?.['rule'] ?? {}
    return [
      ...check(root, { ...(file as object), rules: [] }, []),
      ...rules.flatMap((rule, index) => check(ruleNode, rule, ['rules', index])),
    ]
  }
}

function violationOf(error: ErrorObject, path: Path) {
  const { additionalProperty, missingProperty } = error.params as Record<string, string>
  const key = additionalProperty ?? missingProperty
  return {
    keyword: error.keyword,
    node: (error.parentSchema ?? {}) as SchemaNode,
    value: error.data,
    path,
    key,
  }
}

/** A position and all that it is in, the outermost first. */
function prefixes(instancePath: string): readonly string[] {
  const parts = instancePath.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** An instance path as keys, and as indices where the value has a list. */
function pathOf(instancePath: string, value: unknown): Path {
  let at = value
  return instancePath
    .split('/')
    .slice(1)
    .map((part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(at) ? Number(key) : key
      at = (at as Readonly<Record<string, unknown>>)[key]
      return step
    })
}
