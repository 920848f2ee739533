import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cell, GENERATED, table } from './markdown.mjs'
import { faultFile } from './fault-pages.mjs'
import { schemaTables } from './schema-tables.mjs'

const run = promisify(execFile)

/** The sections of a rule's keys. */
const OF_RULES = [
  {
    title: 'A rule',
    about: 'Each rule needs a name and at least one fault.',
    keys: 'name match faults enabled dryRun marker maxActive then',
  },
  {
    title: 'Selection',
    about:
      'These keys select some of the matching calls; without them the rule acts on each. [Sampling](../concepts/sampling.md) explains `percent`, `probability`, `burst` and `stickyBy`.',
    keys: 'percent probability first after every times burst episode stickyBy shareSamples pods',
  },
  {
    title: 'Schedule',
    about:
      'These keys limit when a rule acts, and change its share over time ([how time counts](../concepts/rules.md#time)).',
    keys: 'from until for repeat appliedAt ramp stages each',
  },
]

/** The sections of the keys of `match`. */
const OF_MATCH = [
  {
    title: 'Message',
    about: 'What an MCP message requests.',
    keys: 'method tool prompt resource args direction kind',
  },
  {
    title: 'Caller',
    about: 'Who sends the message, and how.',
    keys: 'headers baggage session client transport protocolVersion',
  },
  { title: 'HTTP exchange', keys: 'http' },
  { title: 'Outgoing traffic', keys: 'outbound' },
  { title: 'Pod', keys: 'workload podLabels' },
  { title: 'Combinations', keys: 'any all not' },
]

/** Returns the sections with the keys of a schema node, and fails when a key is in none of them. */
function grouped(sections, { properties, required = [] }) {
  const groups = sections.map((section) => {
    const keys = section.keys.split(' ')
    const own = keys.map((key) => [key, properties[key]])
    return { ...section, keys, node: { properties: Object.fromEntries(own), required } }
  })
  const listed = groups.flatMap(({ keys }) => keys)
  const missing = Object.keys(properties).filter((key) => !listed.includes(key))
  if (missing.length > 0) throw new Error(`no section of rules-pages.mjs has ${missing.join()}`)
  return groups
}

function anchor(title) {
  return `#${title.toLowerCase().replaceAll(' ', '-')}`
}

/** Returns the first sentence of a description. */
function gist(description) {
  return cell(/^.*?[.:;](?= |$)/.exec(description)[0].replace(/[:;]$/, '.'))
}

/** Returns an index of keys, each with a link to its section on the page. */
function indexOf(groups, page = '') {
  const rows = groups.flatMap(({ title, keys, node }) =>
    keys.map((key) => [
      `[\`${key}\`](${page}${anchor(title)})`,
      gist(node.properties[key].description),
    ]),
  )
  return table(['Key', 'Meaning'], rows)
}

function sectionsOf(groups, tables) {
  return groups.flatMap(({ title, about, node }) => [
    `## ${title}`,
    ...(about === undefined ? [] : [about]),
    ...tables(node),
  ])
}

async function parts(built) {
  const { FAULTS } = await built('src/filters/index.js')
  const { FORMATS } = await built('src/rules/file/formats.js')
  const { rulesJsonSchema } = await built('src/rules/file/schema.js')
  const root = rulesJsonSchema()
  const { rule, match } = root.definitions
  // Each fault has a page with its parameters.
  rule.properties.faults.items = { $ref: '#/definitions/fault' }
  return {
    root,
    tables: schemaTables(root, FORMATS),
    faults: FAULTS,
    ofRules: grouped(OF_RULES, rule),
    ofMatch: grouped(OF_MATCH, match),
  }
}

/** The reference of the rules file, from its schema in the code: an index, and the keys outside of `match` and faults. */
export async function rulesPage(built) {
  const { root, tables, faults, ofRules, ofMatch } = await parts(built)
  const rows = faults.map(({ name, summary }) => [
    `[\`${name}\`](faults/${faultFile(name)})`,
    cell(`${summary[0].toUpperCase()}${summary.slice(1)}.`),
  ])
  return `${[
    GENERATED,
    '# The rules file',
    'Look up a key of a rules file, which selects MCP calls and injects faults into them. [Rules](../concepts/rules.md) explains how the parts work together.',
    '- [The file](#the-file) · [values](#values)\n- Keys of a rule: [in general](#a-rule) · [selection](#selection) · [schedule](#schedule)\n- [Matchers](#matchers), on [a page of their own](matchers.md)\n- [Faults](#faults), each on a page of its own',
    '```yaml\nversion: 1\nrules:\n  - name: slow-search\n    match: { tool: search_* }\n    percent: 30\n    for: 15m\n    faults:\n      - delay: { fixed: 2s }\n```',
    '## Faults',
    'Each entry of `faults` is a fault name, or a fault name with its parameters.',
    table(['Fault', 'What it does'], rows),
    '## Matchers',
    'A call must satisfy all keys of `match`.',
    indexOf(ofMatch, 'matchers.md'),
    '## The file',
    'A rules file is YAML or JSON. An empty file, like no file, injects nothing. An invalid file is rejected; the last valid one stays active.',
    ...tables(root),
    ...sectionsOf(ofRules, tables),
    '## Values',
    table(
      ['Type', 'Examples'],
      [
        ['duration', '`300ms`, `5s`, `10m`, `1h`, `0`'],
        ['size', '`512B`, `8KiB`, `512` (bytes)'],
        ['percentage', '`30`, `30%`'],
        ['timestamp', '`2026-03-01T09:00:00Z`, `2026-03-01T10:00:00+01:00`'],
      ],
    ),
  ].join('\n\n')}\n`
}

/** The reference of the keys of `match`, from their schema in the code. */
export async function matchersPage(built) {
  const { root, tables, ofMatch } = await parts(built)
  const { headerValue, value } = root.definitions
  const operators = (node) => node?.anyOf?.find((branch) => branch.properties !== undefined) ?? {}
  return `${[
    GENERATED,
    '# Matchers',
    'Look up a key of `match`, which selects the calls of [a rule](rules.md). A call must satisfy all keys.',
    '```yaml\nrules:\n  - name: slow-oslo\n    match:\n      tool: [get_*, search]\n      args: { /city: Oslo }\n      headers: { x-chaos: "on" }\n    faults:\n      - delay: { fixed: 2s }\n```',
    indexOf(ofMatch),
    ...sectionsOf(ofMatch, tables),
    '## Patterns',
    'A pattern is a string, a glob (`*` matches any characters, `?` one), a list of these, `{ regex: … }` or `{ not: … }`. Regular expressions have no look-around and no back-references, so matching takes linear time.',
    '## Operators for strings',
    'Headers, baggage and sessions match a string exactly, or by operators. All operators must match.',
    ...tables(operators(headerValue)),
    '## Operators for arguments',
    'Arguments match a string, number, boolean or null exactly, or by operators. All operators must match.',
    ...tables(operators(value)),
  ].join('\n\n')}\n`
}

/** Returns the maker of a JSON Schema, as the program prints it. */
export function schemaOf(kind) {
  const program = fileURLToPath(new URL('../../bin/squall.cjs', import.meta.url))
  return async () => (await run(process.execPath, [program, 'schema', kind])).stdout
}
