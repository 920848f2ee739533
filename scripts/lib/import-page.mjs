import { cell, GENERATED, table } from './markdown.mjs'

/** Returns the reference of imports, from the declared fields of each format. */
export async function importPage(built) {
  const { CONVERTERS } = await built('src/rules/import/import.js')
  const { FORMATS } = await built('src/rules/import/formats.js')
  return `${GENERATED}

# Import fault configurations from other tools

Convert the fault configuration of Istio, Envoy, toxiproxy, Chaos Mesh or another tool into Squall rules. Formats: ${FORMATS.map((name) => `[${name}](#${name})`).join(', ')}.

\`\`\`sh
npx mcp-squall import examples/import/mcp-chaos.yaml -o imported.yaml
npx mcp-squall validate imported.yaml
\`\`\`

Squall detects the format; to set it, use \`--from\`. Squall lists these fields with line and column on standard error, or in the output of \`--json\`:

- \`changed\`: fields whose meaning changes, such as a random interval that becomes a fixed interval
- \`left out\` (in JSON, \`left_out\`): fields that rules do not support, or that have no effect, with the reason
- \`unknown\`: fields of the format that Squall does not recognize, or that the format does not define

## Check the imported rules

**Apply the rules only to the pods that the source selects.** Squall omits the hosts, namespaces and meshes of the source, the \`port\` and \`remoteCluster\` of an HTTPChaos, and the workload selector and \`match.listener\` of an EnvoyFilter, and keeps the rule enabled.

- **Disabled rules**: if any other field that limits a fault is unknown or cannot be converted, Squall adds \`enabled: false\` to the rule, and a comment with the reason. Complete the \`match\` of the rule, then remove \`enabled: false\`.
- **Invalid files**: Squall rejects a file with a wrong type, an unknown fault type or a missing value. The limits of rules files apply: 1 MiB, 50 levels, one document.
- **Kubernetes objects** may be in up to 100 documents, or in a \`List\`. Squall leaves out objects of another format, and reports the \`--from\` that converts them.

## Import a scenario as an experiment

With \`--as experiment\`, an mcp-chaos-monkey scenario with \`expectedBehavior\` or \`assertions\` becomes a plan for \`squall experiment\`. A sentence such as \`p95 is below 2s\` or \`the error rate stays under 5%\` becomes a gate in \`slo\`. Other sentences become \`# TODO\` comments. Replace the placeholders for addresses, environment, limits of normal operation and load.

## Use files without conversion

You can pass files of mcp-chaos and mcp-chaos-monkey directly to \`squall validate\`, \`squall explain\`, and the \`--rules\` flag of \`squall run\` and \`squall stdio\`, which reload these files live. Squall rejects files with unknown fields, and logs fields that are left out or whose meaning changes. \`squall apply\` and \`squall attach\` accept only rules.

## Exit codes

\`squall import\` exits with code 1 if the file is invalid. If Squall recognizes the format but can convert no fault, the result is \`rules: []\` and the exit code is 0.

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
