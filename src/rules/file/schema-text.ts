import { publishedUrl } from '../../base/manifest.ts'
import { type Fields, isRecord } from '../../base/values.ts'

/** Shorter nodes take more space as references. */
const MIN_SHARED = 80

/** A published JSON Schema of files. */
export type SchemaKind = 'rules' | 'experiment' | 'policy' | 'tape'

/** Returns the path of a schema in this package. */
export function schemaPath(kind: SchemaKind): string {
  return `deploy/${kind}.schema.json`
}

/** Returns the text of a schema, with its address, and with its repeated nodes as definitions. */
export function schemaText(kind: SchemaKind, schema: object): string {
  const shared = shareRepeated(schema)
  const text = { $schema: shared.$schema, $id: publishedUrl(schemaPath(kind)), ...shared }
  return `${JSON.stringify(text, null, 2)}\n`
}

/** The keywords with values other than schemas. */
const VALUES = new Set(['default', 'examples', 'enum', 'defaultSnippets'])

interface Root {
  readonly $schema?: string
  readonly definitions?: object
}

function shareRepeated(schema: Root): Root {
  const repeated = repeatedIn(schema)
  const names = new Map<string, string>()
  const shared: Record<string, unknown> = {}
  const replaced = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(replaced)
    if (!isRecord(node)) return node
    const text = JSON.stringify(node)
    if (!repeated.has(text)) return members(node)
    const known = names.get(text)
    if (known !== undefined) return { $ref: known }
    const name = nameFor(node, { ...schema.definitions, ...shared })
    names.set(text, `#/definitions/${name}`)
    shared[name] = {}
    shared[name] = members(node)
    return { $ref: `#/definitions/${name}` }
  }
  const members = (node: object): object => {
    const of = (key: string, inner: unknown): unknown => {
      const choice = { anyOf: inner }
      const isShared = key === 'anyOf' && repeated.has(JSON.stringify(choice))
      if (isShared && Object.keys(node).length > 1) return [replaced(choice)]
      return VALUES.has(key) ? inner : replaced(inner)
    }
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, of(key, inner)]))
  }
  const root: Root = members(schema)
  return { ...root, definitions: { ...root.definitions, ...shared } }
}

/** Returns the schemas, as text, that occur more than once. */
function repeatedIn(schema: object): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit)
    if (!isRecord(node)) return
    const text = JSON.stringify(node)
    if (isSchema(node) && text.length >= MIN_SHARED && seen.has(text)) {
      repeated.add(text)
      return
    }
    seen.add(text)
    if (isSchema(node) && node['anyOf'] !== undefined && Object.keys(node).length > 1) {
      visit({ anyOf: node['anyOf'] })
    }
    for (const [key, inner] of Object.entries(node)) {
      if (!VALUES.has(key)) visit(inner)
    }
  }
  visit(schema)
  return repeated
}

/** Returns false for maps of properties, which may have one named `type`. */
function isSchema({ anyOf, type }: Fields): boolean {
  return Array.isArray(anyOf) || typeof type === 'string' || Array.isArray(type)
}

/** Returns the name of the first format in a schema, or another free one. */
function nameFor(node: object, taken: object): string {
  const [, first = 'shared'] = /"format":"squall-([a-z]+)"/.exec(JSON.stringify(node)) ?? []
  let name = first
  for (let count = 2; name in taken; count++) name = `${first}${count}`
  return name
}
