import { FAULTS } from '../../filters/index.ts'
import { FORMATS } from './formats.ts'
import { rulesJsonSchema } from './schema.ts'
import { resolved, type SchemaNode } from './schema-node.ts'

/** Writes the reference page of the rules file from the schema: all keys and faults. */
export function rulesReferenceMarkdown(): string {
  const root = rulesJsonSchema()
  const definitions = root.definitions ?? {}
  const { rule, match, headerValue, value } = definitions
  const operators = (node: SchemaNode | undefined): SchemaNode =>
    node?.anyOf?.find((branch) => branch.properties !== undefined) ?? {}
  const faults = FAULTS.flatMap(({ name, summary, schema, meets, example, elsewhere }) => [
    `### ${name}`,
    `The fault that ${summary}.`,
    ...(example === undefined ? [] : [`\`\`\`yaml\nrules:\n${indented(example.trim())}\n\`\`\``]),
    ...tables(schema as SchemaNode, definitions),
    ...(meets === undefined ? [] : [`**What the client meets.** ${meets}`]),
    ...(elsewhere === undefined ? [] : [`**Elsewhere.** ${elsewhere}`]),
  ])
  return `${[
    '# The rules file',
    'One YAML or JSON file. No file, an empty one and one without rules all mean that there are no faults. An invalid file changes nothing: the last valid one stays active.',
    'Durations are written `300ms`, `5s`, `10m`, `1h`, or `0`; sizes `512B`, `8KiB`, or `512` in bytes; shares `30` or `30%`; times `2026-03-01T09:00:00Z`, always with their offset.',
    '## The file',
    ...tables(root, definitions),
    '## A rule',
    ...tables(rule, definitions),
    '## What a rule matches',
    'All that is given must hold.',
    ...tables(match, definitions),
    '### Names, methods and paths',
    'An exact text, a glob (`*` is any run of characters and `?` any one), a list of such, `{ regex: … }` or `{ not: … }`. Regular expressions have no look-around and no back-references, so that they take time in proportion to the text alone.',
    '### Values of headers and sessions',
    'An exact text, or an object with operators that must all hold.',
    ...tables(operators(headerValue), definitions),
    '### Values of arguments',
    'A text, number, boolean or null, or an object with operators that must all hold.',
    ...tables(operators(value), definitions),
    '## Faults',
    'Each entry of `faults` has the name of one fault as its key, and its parameters under it.',
    ...faults,
  ].join('\n\n')}\n`
}

/** Writes a table of an object's keys, with the keys of nested objects. */
function tables(
  node: SchemaNode | undefined,
  definitions: Readonly<Record<string, SchemaNode>>,
): readonly string[] {
  const rows: string[] = []
  const add = (at: SchemaNode, prefix: string): void => {
    for (const [key, each] of Object.entries(at.properties ?? {})) {
      const isRequired = at.required?.includes(key) === true
      const name = code(`${prefix}${key}`)
      rows.push(row([name, takes(each, definitions), usual(each, isRequired), meaning(each)]))
      for (const inner of [each, ...(each.anyOf ?? []), each.items ?? {}]) {
        if (inner.properties !== undefined) add(inner, `${prefix}${key}.`)
      }
    }
  }
  if (node !== undefined) add(node, '')
  if (rows.length === 0) return []
  return [
    [row(['Key', 'Takes', 'Default', 'Meaning']), row(['---', '---', '---', '---']), ...rows].join(
      '\n',
    ),
  ]
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

function code(text: string): string {
  return `\`${text}\``
}

function usual(node: SchemaNode, isRequired: boolean): string {
  if (isRequired) return 'required'
  return node.default === undefined ? '' : code(JSON.stringify(node.default))
}

function meaning(node: SchemaNode): string {
  const [example] = node.examples ?? []
  const shown = example === undefined ? '' : ` For example ${code(JSON.stringify(example))}.`
  return `${node.description ?? ''}${shown}`.trim()
}

const NAMED: Readonly<Record<string, string>> = {
  '#/definitions/match': 'a match',
  '#/definitions/text': 'names',
  '#/definitions/headerValue': 'text or operators',
  '#/definitions/value': 'a value or operators',
  '#/definitions/rule': 'a rule',
}

function takes(node: SchemaNode, definitions: Readonly<Record<string, SchemaNode>>): string {
  const named = node.$ref === undefined ? undefined : NAMED[node.$ref]
  if (named !== undefined) return named
  const schema = resolved(node, definitions)
  if (schema.anyOf !== undefined) {
    return [...new Set(schema.anyOf.map((branch) => takes(branch, definitions)))].join(' or ')
  }
  if (schema.format !== undefined) return shortWants(FORMATS[schema.format]?.wants ?? 'text')
  if (schema.enum !== undefined) return schema.enum.map((each) => code(String(each))).join(', ')
  const type = String([schema.type].flat()[0])
  switch (type) {
    case 'array':
      return `list of ${schema.items === undefined ? 'values' : takes(schema.items, definitions)}`
    case 'integer':
      return `integer${range(schema)}`
    case 'number':
      return `number${range(schema)}`
    case 'string':
      return 'text'
    case 'boolean':
      return '`true`, `false`'
    case 'object': {
      const [ofEach] = Object.values(schema.patternProperties ?? {})
      return ofEach === undefined ? 'object' : `object of ${takes(ofEach, definitions)}`
    }
    default:
      return 'any value'
  }
}

function shortWants(wants: string): string {
  return (wants.split(/ such as |, /)[0] ?? wants).replace(/^an? /, '')
}

function range({ minimum, maximum, exclusiveMinimum }: SchemaNode): string {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  const from = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`
  if (from === undefined) return ''
  return bounded ? `, ${from} to ${maximum}` : `, from ${from}`
}
