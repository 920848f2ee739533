import { parse } from 'yaml'
import { ANY_HEADER_NAME_PATTERN } from '../../http/header-text.ts'
import { FAULTS } from '../../filters/index.ts'
import { CALL_KEYS } from './match-findings.ts'
import type { SchemaNode } from './schema-node.ts'

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
