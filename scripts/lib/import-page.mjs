import { cell, GENERATED, table } from './markdown.mjs'

/** Returns the reference of imports, from the declared fields of each format. */
export async function importPage(built) {
  const { CONVERTERS } = await built('src/rules/import/import.js')
  const { FORMATS } = await built('src/rules/import/formats.js')
  return `${GENERATED}

# Import from other tools

Convert another tool's fault configuration into rules. Formats: ${FORMATS.map((name) => `[${name}](#${name})`).join(', ')}.

\`\`\`sh
npx mcp-squall import examples/import/mcp-chaos.yaml -o imported.yaml
npx mcp-squall validate imported.yaml
\`\`\`

With \`--as experiment\`, an mcp-chaos-monkey scenario with \`expectedBehavior\` or \`assertions\` becomes a \`squall experiment\` plan. A sentence such as \`p95 is below 2s\` or \`the error rate stays under 5%\` becomes a gate in \`slo\`; other sentences become \`# TODO\` comments. Replace the placeholders for addresses, environment and load.

Squall detects the format; \`--from\` sets it. Standard error, or the output of \`--json\`, lists with line and column:

- \`changed\`: fields whose meaning changes, such as a random interval that becomes a fixed interval;
- \`left out\`: fields that rules do not support, with the reason;
- \`unknown\`: fields that the format does not define.

**Apply the rules only to the pods that the source selects.** Squall omits the source's hosts, namespaces, meshes and ports, and keeps the rule enabled.

- **Disabled rules**: if another field that limits a fault is unknown or cannot be converted, the rule gets \`enabled: false\` and a comment with the reason. Complete its \`match\`, then remove \`enabled: false\`.
- **Invalid files**: Squall rejects a file with a wrong type, an unknown fault type or a missing value. The limits of rules files apply: 1 MiB, 50 levels, one document.
- **Kubernetes objects** may be in up to 100 documents, or in a \`List\`. Objects of another format are left out; the report names the \`--from\` that converts them.

## Use files without conversion

\`squall run\` and \`stdio\` with \`--rules\`, \`validate\` and \`explain\` also read files of mcp-chaos and mcp-chaos-monkey, and \`run\` and \`stdio\` reload them live. A file with unknown fields is rejected; fields whose meaning changes are logged. \`squall apply\` and \`attach\` accept only rules.

## Exit codes

The exit code of \`squall import\` is 1 for an invalid file. For a file without convertible faults, the result is \`rules: []\` and the exit code 0.

${FORMATS.map((name) => section(name, CONVERTERS[name])).join('\n')}`
}

function section(name, { source, about, shapes }) {
  return `## ${name}

Reads ${source}. ${about}

${table(['Object', 'Field', 'Conversion'], shapes.flatMap(rows))}
`
}

function rows({ title, fields }) {
  return Object.entries(fields).map(([key, field], index) => [
    index === 0 ? cell(title) : '',
    `\`${key}\``,
    meaning(field),
  ])
}

function meaning({ to, aside, why, limits }) {
  if (to !== undefined) return cell(to)
  if (aside !== undefined) return `ignored: ${cell(aside)}`
  return `${limits ? '**disables the rule**' : 'left out'}: ${cell(why)}`
}
