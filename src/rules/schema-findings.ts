import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { fileNode, ruleNode, wholeSchema } from './checked-nodes.ts'
import { shownValue } from './problem.ts'
import type { Finding, Path } from './problem.ts'
import { memberOf } from './read-values.ts'
import { madeValidator } from './rules-validator.ts'
import { createCompiler } from './schema-compiler.ts'
import { branchFor } from './schema-node.ts'
import type { SchemaNode } from './schema-node.ts'
import { findingOf, noBranch } from './schema-messages.ts'

const ABOUT_TEXT: ReadonlySet<string> = new Set(['format', 'pattern', 'minLength', 'maxLength'])

/** Finds what in a value does not fit a schema, each mistake once and in terms of what was meant. */
export class SchemaChecker {
  readonly #root: SchemaNode
  readonly #file: SchemaNode
  readonly #made: (whole: SchemaNode) => ValidateFunction | undefined
  readonly #validators = new Map<SchemaNode, ValidateFunction>()
  #compiler: Ajv | undefined

  constructor(
    root: SchemaNode,
    made: (whole: SchemaNode) => ValidateFunction | undefined = madeValidator,
  ) {
    this.#root = root
    this.#file = fileNode(root)
    this.#made = made
  }

  /**
   * The mistakes in a whole file, up to about `limit` of them. Rules are checked one by one: the
   * validator copies all errors found so far for each entry of a list that has one.
   */
  check(file: unknown, limit: number): readonly Finding[] {
    const rules = memberOf(file, 'rules')
    if (!Array.isArray(rules)) return this.#check(this.#file, file, [])
    const findings = [...this.#check(this.#file, { ...(file as object), rules: [] }, [])]
    const rule = ruleNode(this.#root)
    for (const [index, each] of rules.entries()) {
      if (findings.length >= limit) break
      findings.push(...this.#check(rule, each, ['rules', index]))
    }
    return findings
  }

  #check(node: SchemaNode, value: unknown, base: Path): readonly Finding[] {
    const validate = this.#validator(node)
    if (validate(value)) return []
    const errors = validate.errors ?? []
    const unions = new Map<string, ErrorObject>()
    for (const error of errors) if (error.keyword === 'anyOf') unions.set(error.instancePath, error)
    const findings: Finding[] = []
    const told = new Set<string>()
    for (const error of errors) {
      const at = error.instancePath
      // What the branches of a union say is asked again of the one branch that was meant.
      const union = outermost(unions, at)
      if (union === undefined) {
        const finding = findingOf(error, [...base, ...pathOf(at, value)], this.#root)
        // A text that is too long fits no pattern either: one mistake.
        const once = `${at} ${ABOUT_TEXT.has(error.keyword) ? 'text' : finding.message}`
        if (told.has(once)) continue
        told.add(once)
        findings.push(finding)
      } else if (union === error) {
        findings.push(...this.#inUnion(error, [...base, ...pathOf(at, value)]))
      }
    }
    return findings
  }

  #inUnion(error: ErrorObject, path: Path): readonly Finding[] {
    const branches = error.schema as readonly SchemaNode[]
    const { definitions } = this.#root
    const branch = branchFor(branches, error.data, definitions)
    if (branch === undefined) return [noBranch(branches, error.data, path, definitions)]
    const findings = this.#check(branch, error.data, path)
    if (findings.length > 0) return findings
    const found = shownValue(error.data)
    return [{ code: 'bad_value', message: `${found} does not fit`, path, found }]
  }

  #validator(node: SchemaNode): ValidateFunction {
    const known = this.#validators.get(node)
    if (known !== undefined) return known
    const whole = wholeSchema(node, this.#root.definitions)
    const validate = this.#made(whole) ?? (this.#compiler ??= createCompiler()).compile(whole)
    this.#validators.set(node, validate)
    return validate
  }
}

/** The union that a place is in, or at; the outermost where there are several. */
function outermost(
  unions: ReadonlyMap<string, ErrorObject>,
  instancePath: string,
): ErrorObject | undefined {
  if (unions.size === 0) return undefined
  for (let end = instancePath.indexOf('/', 1); ; end = instancePath.indexOf('/', end + 1)) {
    const union = unions.get(end < 0 ? instancePath : instancePath.slice(0, end))
    if (union !== undefined || end < 0) return union
  }
}

/** An instance path as keys, and as places where the value has a list. */
function pathOf(instancePath: string, value: unknown): Path {
  if (instancePath === '') return []
  const path: (string | number)[] = []
  let at: unknown = value
  for (const part of instancePath.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(at) ? Number(key) : key)
    at =
      typeof at === 'object' && at !== null
        ? (at as Readonly<Record<string, unknown>>)[key]
        : undefined
  }
  return path
}
