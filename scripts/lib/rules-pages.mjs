import { cell, GENERATED, table } from './markdown.mjs'
import { faultFile } from './fault-pages.mjs'
import { schemaTables } from './schema-tables.mjs'

/** The reference of the rules file, from its schema in the code: all keys, and a list of the faults. */
export async function rulesPage(built) {
  const { FAULTS } = await built('src/filters/index.js')
  const { FORMATS } = await built('src/rules/file/formats.js')
  const { rulesJsonSchema } = await built('src/rules/file/schema.js')
  const root = rulesJsonSchema()
  const { rule, match, headerValue, value } = root.definitions
  const operators = (node) => node?.anyOf?.find((branch) => branch.properties !== undefined) ?? {}
  const tables = schemaTables(root, FORMATS)
  const faults = FAULTS.map(({ name, summary }) => [
    `[${name}](faults/${faultFile(name)})`,
    cell(`${summary[0].toUpperCase()}${summary.slice(1)}.`),
  ])
  return `${[
    GENERATED,
    '# The rules file',
    'One YAML or JSON file. No file, an empty one and one without rules all mean that there are no faults. An invalid file changes nothing: the last valid one stays active.',
    'Durations are written `300ms`, `5s`, `10m`, `1h`, or `0`; sizes `512B`, `8KiB`, or `512` in bytes; shares `30` or `30%`; times `2026-03-01T09:00:00Z`, always with their offset.',
    '## The file',
    ...tables(root),
    '## A rule',
    ...tables(rule),
    '## What a rule matches',
    'All that is given must hold.',
    ...tables(match),
    '### Names, methods and paths',
    'An exact text, a glob (`*` is any run of characters and `?` any one), a list of such, `{ regex: … }` or `{ not: … }`. Regular expressions have no look-around and no back-references, so that they take time in proportion to the text alone.',
    '### Values of headers and sessions',
    'An exact text, or an object with operators that must all hold.',
    ...tables(operators(headerValue)),
    '### Values of arguments',
    'A text, number, boolean or null, or an object with operators that must all hold.',
    ...tables(operators(value)),
    '## Faults',
    'Each entry of `faults` has the name of one fault as its key, and its parameters under it. Each fault has a page.',
    table(['Fault', 'What it does'], faults),
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
