import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cell, GENERATED, table } from './markdown.mjs'
import { faultFile } from './fault-pages.mjs'
import { schemaTables } from './schema-tables.mjs'

const run = promisify(execFile)

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
    '### Values of headers, baggage and sessions',
    'An exact text, or an object with operators that must all hold.',
    ...tables(operators(headerValue)),
    '### Values of arguments',
    'A text, number, boolean or null, or an object with operators that must all hold.',
    ...tables(operators(value)),
    '## Faults',
    'Each entry of `faults` has the name of a fault as its key, and the parameters as its value. Each fault has a page.',
    table(['Fault', 'What it does'], faults),
  ].join('\n\n')}\n`
}

/** Returns the maker of a JSON Schema, as the program prints it. */
export function schemaOf(kind) {
  const program = fileURLToPath(new URL('../../bin/squall.cjs', import.meta.url))
  return async () => (await run(process.execPath, [program, 'schema', kind])).stdout
}
