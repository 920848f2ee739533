import { cell, GENERATED, table } from './markdown.mjs'

/** The reference of the rules file, from its schema in the code: all keys and faults. */
export async function rulesPage(built) {
  const { FAULTS } = await built('src/filters/index.js')
  const { FORMATS } = await built('src/rules/file/formats.js')
  const { rulesJsonSchema } = await built('src/rules/file/schema.js')
  const root = rulesJsonSchema()
  const { rule, match, headerValue, value } = root.definitions
  const operators = (node) => node?.anyOf?.find((branch) => branch.properties !== undefined) ?? {}
  const tables = (node) => {
    const rows = []
    const add = (at, prefix) => {
      for (const [key, each] of Object.entries(at.properties ?? {})) {
        const isRequired = at.required?.includes(key) === true
        const name = code(`${prefix}${key}`)
        const about = meaning(each)
        rows.push([name, takes(each, root, FORMATS), usual(each, isRequired), about].map(cell))
        for (const inner of [each, ...(each.anyOf ?? []), each.items ?? {}]) {
          if (inner.properties !== undefined) add(inner, `${prefix}${key}.`)
        }
      }
    }
    add(node, '')
    return rows.length === 0 ? [] : [table(['Key', 'Takes', 'Default', 'Meaning'], rows)]
  }
  const faults = FAULTS.flatMap(({ name, summary, schema, meets, example, elsewhere }) => [
    `### ${name}`,
    `The fault that ${summary}.`,
    ...(example === undefined ? [] : [`\`\`\`yaml\nrules:\n${indented(example.trim())}\n\`\`\``]),
    ...tables(schema),
    ...(meets === undefined ? [] : [`**What the client receives.** ${meets}`]),
    ...(elsewhere === undefined ? [] : [`**In other tools.** ${elsewhere}`]),
  ])
  return `${[
    GENERATED,
    '# The rules file',
    'A rules file is one YAML or JSON file. Without a file, or with an empty file or list, no fault is injected. An invalid file is rejected: the last valid one stays active.',
    'Durations are written `300ms`, `5s`, `10m`, `1h`, or `0`; sizes `512B`, `8KiB`, or `512` in bytes; shares `30` or `30%`; times `2026-03-01T09:00:00Z`, always with their offset.',
    '## The file',
    ...tables(root),
    '## A rule',
    ...tables(rule),
    '## What a rule matches',
    'All keys of a match must match.',
    ...tables(match),
    '### Names, methods and paths',
    'An exact text, a glob (`*` is any run of characters and `?` any one), a list of these, `{ regex: … }` or `{ not: … }`. Regular expressions have no look-around and no back-references, so that matching takes linear time.',
    '### Values of headers and sessions',
    'An exact text, or an object with operators that must all hold.',
    ...tables(operators(headerValue)),
    '### Values of arguments',
    'A text, number, boolean or null, or an object with operators that must all hold.',
    ...tables(operators(value)),
    '## Faults',
    'Each entry of `faults` has the name of a fault as its key, and the parameters as its value.',
    ...faults,
  ].join('\n\n')}\n`
}

/** The JSON Schema of rules files, as the program prints it. */
export async function rulesSchema(built) {
  const { rulesSchemaText } = await built('src/rules/file/schema.js')
  return rulesSchemaText()
}

/** The JSON Schema of the plans of experiments, as the program prints it. */
export async function experimentSchema(built) {
  const { planSchemaText } = await built('packages/experiments/src/experiment/plan-schema.js')
  return planSchemaText()
}

/** The JSON Schema of policies, as the program prints it. */
export async function policySchema(built) {
  const { policySchemaText } = await built('packages/experiments/src/policy/policy-schema.js')
  return policySchemaText()
}

function indented(text) {
  return text.replace(/^(?=.)/gm, '  ')
}

function code(text) {
  return `\`${text}\``
}

function usual(node, isRequired) {
  if (isRequired) return 'required'
  return node.default === undefined ? '' : code(JSON.stringify(node.default))
}

function meaning({ description = '', examples = [] }) {
  const shown = examples.length === 0 ? '' : ` For example ${code(JSON.stringify(examples[0]))}.`
  return `${description}${shown}`.trim()
}

const NAMED = {
  '#/definitions/match': 'a match',
  '#/definitions/text': 'names',
  '#/definitions/headerValue': 'text or operators',
  '#/definitions/value': 'a value or operators',
  '#/definitions/rule': 'a rule',
}

function takes(node, root, formats) {
  if (NAMED[node.$ref] !== undefined) return NAMED[node.$ref]
  if (node.$ref !== undefined) {
    return takes(root.definitions[node.$ref.replace('#/definitions/', '')], root, formats)
  }
  const of = (each) => takes(each, root, formats)
  if (node.anyOf !== undefined) return [...new Set(node.anyOf.map(of))].join(' or ')
  if (node.format !== undefined) return shortWants(formats[node.format]?.wants ?? 'text')
  if (node.enum !== undefined) return node.enum.map((each) => code(String(each))).join(', ')
  switch ([node.type].flat()[0]) {
    case 'array':
      return `list of ${node.items === undefined ? 'values' : of(node.items)}`
    case 'integer':
      return `integer${range(node)}`
    case 'number':
      return `number${range(node)}`
    case 'string':
      return 'text'
    case 'boolean':
      return '`true`, `false`'
    case 'object': {
      const [ofEach] = Object.values(node.patternProperties ?? {})
      return ofEach === undefined ? 'object' : `object of ${of(ofEach)}`
    }
    default:
      return 'any value'
  }
}

function shortWants(wants) {
  return (wants.split(/ such as |, /)[0] ?? wants).replace(/^an? /, '')
}

function range({ minimum, maximum, exclusiveMinimum }) {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  const from = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`
  if (from === undefined) return ''
  return bounded ? `, ${from} to ${maximum}` : `, from ${from}`
}
