import type { SchemaNode } from './schema-node.ts'
import { CALL_KEYS } from './match-findings.ts'
import { FAULTS } from '../../filters/index.ts'
import { ANY_HEADER_NAME_PATTERN } from '../../http/header-text.ts'
import { parse } from 'yaml'
import { publishedUrl } from '../../base/program.ts'
import { type Fields, isRecord } from '../../base/values.ts'

/** Shorter nodes take more space as references. */
const MIN_SHARED = 80

/** Returns the text of a schema, with its address, and with its repeated nodes as definitions. */
export function schemaText(
  kind: 'rules' | 'experiment' | 'policy' | 'tape',
  schema: object,
): string {
  const shared = shareRepeated(schema)
  const text = {
    $schema: shared.$schema,
    $id: publishedUrl(`deploy/${kind}.schema.json`),
    ...shared,
  }
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

/** The keys of a rule that are mutually exclusive. */
const CONFLICTS: readonly (readonly [string, string])[] = [
  ['percent', 'probability'],
  ['percent', 'stages'],
  ['probability', 'stages'],
  ['ramp', 'stages'],
  ['burst', 'first'],
  ['burst', 'every'],
]

/**
 * Returns a schema with what only editors need: a snippet for each fault, because a list of names
 * and objects is completed by its names alone, and the contradictions between keys, which
 * `squall validate` finds by itself and explains better.
 */
export function editorSchema(root: SchemaNode): object {
  const { rule = {}, match = {}, ...others } = root.definitions ?? {}
  const { faults = {}, ...properties } = rule.properties ?? {}
  const definitions = {
    rule: {
      ...rule,
      properties: { ...properties, faults: { ...faults, items: editedItems(faults.items ?? {}) } },
      dependencies: { stages: ['each'], each: ['stages'] },
      allOf: CONFLICTS.map(notTogether),
    },
    match: {
      ...match,
      properties: withNames(match.properties ?? {}),
      allOf: CALL_KEYS.map((key) => notTogether(['http', key])),
    },
    ...others,
  }
  return { ...root, definitions }
}

/** Adds the names that headers, baggage and arguments may have. */
function withNames({
  headers,
  baggage,
  args,
  ...others
}: NonNullable<SchemaNode['properties']>): object {
  return {
    ...others,
    headers: { ...headers, propertyNames: { pattern: ANY_HEADER_NAME_PATTERN } },
    baggage: { ...baggage, propertyNames: { pattern: ANY_HEADER_NAME_PATTERN } },
    args: { ...args, propertyNames: { pattern: '^(/([^~]|~[01])*)?$' } },
  }
}

function notTogether(required: readonly string[]): object {
  return { not: { required } }
}

function editedItems({ anyOf = [] }: SchemaNode): object {
  return {
    anyOf: anyOf.map((branch) =>
      branch.type === 'object'
        ? { ...branch, properties: editedFaults(branch), defaultSnippets: snippets() }
        : branch,
    ),
  }
}

function editedFaults({ properties = {} }: SchemaNode): object {
  const edited = FAULTS.map(({ name, ...fault }) => {
    const { oneOf, goesWith = {} }: Constraints = fault
    const dependencies = Object.fromEntries(
      Object.entries(goesWith).map(([key, other]) => [key, [other]]),
    )
    const { properties: parameters = {}, ...schema }: SchemaNode = properties[name] ?? {}
    const node = {
      ...schema,
      properties: withPlaces(parameters),
      ...(oneOf !== undefined && { oneOf: oneOf.map((key) => ({ required: [key] })) }),
      ...(Object.keys(dependencies).length > 0 && { dependencies }),
    }
    return [name, node]
  })
  return Object.fromEntries(edited) as object
}

/** Lets the parameters that name one place in a response have one key. */
function withPlaces(parameters: NonNullable<SchemaNode['properties']>): object {
  const places = Object.entries(parameters).filter(([key]) => key === 'after' || key === 'content')
  const one = { minProperties: 1, maxProperties: 1 }
  return {
    ...parameters,
    ...Object.fromEntries(places.map(([key, node]) => [key, { ...node, ...one }])),
  }
}

interface Constraints {
  readonly oneOf?: readonly string[]
  readonly goesWith?: Readonly<Record<string, string>>
}

/** Returns the summary of a fault as a sentence, such as `Delays a call.` */
export function faultSentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`
}

function snippets(): readonly object[] {
  return FAULTS.map(({ name, summary, example }) => {
    const [rule] = parse(example) as readonly [{ readonly faults: readonly unknown[] }]
    return { label: name, description: faultSentence(summary), body: rule.faults[0] }
  })
}
