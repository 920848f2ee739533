/** The subset of JSON Schema that the rules' schema uses. */
export interface SchemaNode {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly definitions?: Readonly<Record<string, SchemaNode>>
}

const REF = '#/definitions/'

/** Returns the node, or the target of its reference. */
export function resolved(node: SchemaNode, definitions: SchemaNode['definitions']): SchemaNode {
  if (node.$ref === undefined) return node
  const target = definitions?.[node.$ref.slice(REF.length)]
  if (target === undefined) throw new TypeError(`no definition ${node.$ref}`)
  return resolved(target, definitions)
}

/** Returns the branch of a union for the type of a value: no union has two for one type. */
export function branchFor(
  branches: readonly SchemaNode[],
  value: unknown,
  definitions: SchemaNode['definitions'],
): SchemaNode | undefined {
  const type = jsonType(value)
  return branches.find((branch) => {
    const wanted = resolved(branch, definitions).type
    return wanted === type || (wanted === 'integer' && type === 'number')
  })
}

/** Returns the node for a path below a node; undefined for a path that is not in the schema. */
export function nodeAt(
  root: SchemaNode,
  path: readonly (string | number)[],
): SchemaNode | undefined {
  let at: SchemaNode | undefined = root
  for (const step of path) {
    const branches: readonly SchemaNode[] = at.anyOf ?? [at]
    const nodes = branches.map((branch) => memberNode(resolved(branch, root.definitions), step))
    const found: SchemaNode | undefined = nodes.find((node) => node !== undefined)
    if (found === undefined) return undefined
    at = { ...resolved(found, root.definitions), ...found }
  }
  return at
}

function memberNode(
  { items, properties = {}, patternProperties = {} }: SchemaNode,
  step: string | number,
): SchemaNode | undefined {
  if (typeof step === 'number') return items
  return Object.hasOwn(properties, step) ? properties[step] : Object.values(patternProperties)[0]
}

/** Returns JSON Schema's name for the type of a value. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
