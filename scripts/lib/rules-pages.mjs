import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cell, GENERATED, sentence, table } from './markdown.mjs'
import { faultFile } from './fault-pages.mjs'
import { schemaTables } from './schema-tables.mjs'

const run = promisify(execFile)

/** The sections of a rule's keys. */
const OF_RULES = [
  {
    title: 'Rule keys',
    about: 'Each rule needs a name and at least one fault.',
    keys: 'name match faults enabled dryRun marker maxActive then',
  },
  {
    title: 'Sampling keys',
    about:
      'These keys select some of the matching calls. Without them, the rule acts on every matching call. `first`, `after`, `every`, `times` and `episode` count on each replica. [Sampling](../concepts/sampling.md) explains `percent`, `probability`, `burst` and `stickyBy`.',
    keys: 'percent probability first after every times burst episode stickyBy shareSamples pods',
  },
  {
    title: 'Schedule keys',
    about:
      'These keys limit when a rule acts, and change the share of sampled calls over time. [Time](../concepts/rules.md#schedules) explains when they start to count.',
    keys: 'from until for repeat appliedAt ramp stages each',
  },
]

/** The sections of the keys of `match`. */
const OF_MATCH = [
  {
    title: 'Match by message',
    about: 'These keys match the content of an MCP message.',
    keys: 'method tool prompt resource args direction kind',
  },
  {
    title: 'Match by caller',
    about: 'These keys match the sender of a message, its headers and its transport.',
    keys: 'headers baggage session client transport protocolVersion',
  },
  { title: 'Match HTTP exchanges', keys: 'http' },
  { title: 'Match outgoing traffic', keys: 'outbound' },
  { title: 'Match by pod', keys: 'workload podLabels' },
  { title: 'Combine matchers', keys: 'any all not' },
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
    cell(sentence(summary)),
  ])
  return `${[
    GENERATED,
    '# Rules file',
    'Look up a key of the rules file, which selects MCP calls and injects faults into them. [Rules](../concepts/rules.md) explains how the keys work together.',
    '- [Faults](#faults), each with its own page\n- [Matchers](#matchers), with [details on a separate page](matchers.md)\n- [Top-level keys](#top-level-keys)\n- [Rule keys](#rule-keys), [sampling keys](#sampling-keys) and [schedule keys](#schedule-keys)\n- [Value formats](#value-formats)',
    '```yaml\nversion: 1\nrules:\n  - name: slow-search\n    match: { tool: search_* }\n    percent: 30\n    for: 15m\n    faults:\n      - delay: { fixed: 2s }\n```',
    '## Faults',
    'Each entry of `faults` is a fault name with its parameters, or only the name if the fault requires no parameters.',
    table(['Fault', 'Effect'], rows),
    '## Matchers',
    'These keys of `match` select calls. A call must satisfy all keys that `match` sets.',
    indexOf(ofMatch, 'matchers.md'),
    '## Top-level keys',
    'A rules file is YAML or JSON. An empty or missing file contains no rules. An invalid file is rejected; the last valid file stays active.',
    ...tables(root),
    ...sectionsOf(ofRules, tables),
    '## Value formats',
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
    '# Matchers: select the calls of a rule',
    'Select the calls that [a rule](rules.md) acts on, by tool, arguments, headers, client, pod and more. A call must satisfy every key in `match`.',
    '```yaml\nrules:\n  - name: slow-oslo\n    match:\n      tool: [get_*, search]\n      args: { /city: Oslo }\n      headers: { x-chaos: "on" }\n    faults:\n      - delay: { fixed: 2s }\n```',
    indexOf(ofMatch),
    ...sectionsOf(ofMatch, tables),
    '## Patterns and globs',
    'A pattern is a string, a glob, `{ regex: … }`, `{ not: … }`, or a list of these. In a glob, `*` matches any number of characters, and `?` matches exactly one. Regular expressions have no look-around and no back-references, so matching takes linear time.',
    '## String operators',
    'For `headers`, `baggage` and `session`, write a string for an exact match, or an object with one or more of these operators. All of them must match.',
    ...tables(operators(headerValue)),
    '## Argument operators',
    'For `args`, write a string, number, boolean or null for an exact match, or an object with one or more of these operators. All of them must match.',
    ...tables(operators(value)),
  ].join('\n\n')}\n`
}

/** Returns the maker of a JSON Schema, as the program prints it. */
export function schemaOf(kind) {
  const program = fileURLToPath(new URL('../../bin/squall.cjs', import.meta.url))
  return async () => (await run(process.execPath, [program, 'schema', kind])).stdout
}
