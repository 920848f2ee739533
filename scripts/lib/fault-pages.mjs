import { GENERATED, cell, table } from './markdown.mjs'
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
    '# Faults',
    'Choose a fault by its effect, or by its name in another tool. A rule injects one or more faults, listed in [`faults`](../rules.md#faults).',
    table(['Fault', 'Effect', 'In other tools'], rows),
  ].join('\n\n')}\n`
}

function pageOf({ name, summary, schema, clientSees, example, otherTools }, tables) {
  const parameters = tables(schema)
  const measured = NOT_MEASURED.includes(name)
    ? []
    : [
        `[The client matrix](../matrix.md#${name.toLowerCase()}) lists the errors that real clients report.`,
      ]
  // The fault of connections acts on no message.
  const reach =
    name === 'connection'
      ? ''
      : `[Reach](../reach.md#${name.toLowerCase()}) lists the messages on which the fault acts. `
  const parts = [
    GENERATED,
    `# ${name}`,
    `The fault \`${name}\` ${summary}.`,
    ...(example === undefined ? [] : [`\`\`\`yaml\nrules:\n${indented(example.trim())}\n\`\`\``]),
    ...(parameters.length === 0 ? [] : ['## Parameters', ...parameters]),
    ...(clientSees === undefined
      ? []
      : ['## What clients see', [clientSees, ...measured].join('\n\n')]),
    ...(otherTools === undefined ? [] : ['## In other tools', otherTools]),
    '## See also',
    `[Other keys of a rule](../rules.md#a-rule) select calls and limit the fault. ${reach}[\`squall explain\`](../../guides/explain.md) predicts whether a rule acts on a call.`,
  ]
  return `${parts.join('\n\n')}\n`
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`
}

function indented(text) {
  return text.replace(/^(?=.)/gm, '  ')
}
