import { GENERATED, cell, sentence, table } from './markdown.mjs'
import { schemaTables } from './schema-tables.mjs'

/** Faults without a section in the matrix: they affect no call that a client could report. */
const NOT_MEASURED = ['connection']

/** Returns the file name of the page of a fault. */
export function faultFile(name) {
  return `${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.md`
}

/** Returns a page for each fault, from its definition in the code, and the list of them. */
export async function faultPages(built) {
  const { FAULTS } = await built('src/filters/index.js')
  const { FORMATS } = await built('src/rules/file/formats.js')
  const { rulesJsonSchema } = await built('src/rules/file/schema.js')
  const tables = schemaTables(rulesJsonSchema(), FORMATS)
  const pages = FAULTS.map((fault) => ({
    path: `docs/reference/faults/${faultFile(fault.name)}`,
    make: () => pageOf(fault, tables),
  }))
  return [{ path: 'docs/reference/faults/README.md', make: () => list(FAULTS) }, ...pages]
}

function list(faults) {
  const rows = faults.map(({ name, summary, otherTools = '' }) => [
    `[${name}](${faultFile(name)})`,
    cell(sentence(summary)),
    cell(otherTools),
  ])
  return `${[
    GENERATED,
    '# Fault types',
    'Find the fault to inject into MCP calls, by its effect or by the name of its equivalent in toxiproxy, Envoy, Istio or Chaos Mesh. Each fault has a page with an example and its parameters. To inject faults, list them under [`faults`](../rules.md#faults) in a rule.',
    table(['Fault', 'Effect', 'Equivalents in other tools'], rows),
  ].join('\n\n')}\n`
}

function pageOf({ name, title, summary, schema, clientSees, example, otherTools }, tables) {
  const parameters = tables(schema)
  // The fault of connections acts on no message.
  const ofTraffic = NOT_MEASURED.includes(name)
    ? ['- [Inject faults into outbound connections](../../guides/outbound.md)']
    : [
        `- [Errors that MCP clients report](../matrix.md#${name.toLowerCase()}) for \`${name}\``,
        `- [Messages that \`${name}\` acts on](../reach.md#${name.toLowerCase()}), by transport`,
      ]
  const links = [
    ...ofTraffic,
    '- [Rule keys](../rules.md#rule-keys) that select traffic and limit the fault',
    '- [`squall explain`](../../guides/explain.md), to predict whether a rule acts',
  ]
  const parts = [
    GENERATED,
    `# ${name}: ${title}`,
    `The \`${name}\` fault ${summary}.`,
    ...(example === undefined ? [] : [`\`\`\`yaml\nrules:\n${indented(example.trim())}\n\`\`\``]),
    ...(parameters.length === 0 ? [] : ['## Parameters', ...parameters]),
    ...(clientSees === undefined ? [] : ['## What clients see', clientSees]),
    ...(otherTools === undefined ? [] : ['## Equivalents in other tools', otherTools]),
    '## See also',
    links.join('\n'),
  ]
  return `${parts.join('\n\n')}\n`
}

function indented(text) {
  return text.replace(/^(?=.)/gm, '  ')
}
