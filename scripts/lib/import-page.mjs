import { cell, GENERATED, table } from './markdown.mjs'

/** The reference of imports, from the declared fields of each format. */
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

With \`--as experiment\`, an mcp-chaos-monkey scenario with \`expectedBehavior\` or \`assertions\` becomes a \`squall experiment\` plan. A sentence such as \`p95 is below 2s\` or \`the error rate stays under 5%\` becomes a gate in \`slo\`, any other a \`# TODO\` comment. Addresses, environment and load are placeholders.

The format is detected, or set by \`--from\`. Standard error, or \`--json\`, reports with line and column:

- \`changed\`: a field with another meaning, such as a random interval that became a fixed one;
- \`left out\`: a field that rules do not support, with the reason;
- \`unknown\`: a field that the format does not have.

**Apply the rules only to the pods that the source selects.** The source's hosts, namespaces, meshes and ports are omitted without disabling a rule. If any other field that limits a fault is unknown or cannot be converted, the rule has \`enabled: false\` and a comment with the reason; complete its \`match\`, then remove the line. A file with a wrong type, an unknown type of fault or a missing value is rejected, with the limits of rules files: 1 MiB, 50 levels, one document. Kubernetes objects may come in up to 100 documents, or as items of a \`List\`; those of another format are left out, with the \`--from\` that converts them.

**Without a conversion**, \`squall run\` and \`stdio\` with \`--rules\`, \`validate\` and \`explain\` read files of mcp-chaos and mcp-chaos-monkey instead of rules, and reload them live. Unknown fields then reject the file, and differing fields are logged. \`squall apply\` and \`attach\` need rules.

The exit code is 1 for an invalid file. A file without convertible faults gives \`rules: []\` and exit code 0.

${FORMATS.map((name) => section(name, CONVERTERS[name])).join('\n')}`
}

function section(name, { source, about, shapes }) {
  return `## ${name}

Reads ${source}. ${about}

${table(['Object', 'Field', 'In rules'], shapes.flatMap(rows))}
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
