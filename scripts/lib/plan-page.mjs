import { cell, GENERATED, table } from './markdown.mjs'
import { schemaTables } from './schema-tables.mjs'

/** Returns the reference of plans of experiments, from their schema in the code. */
export async function planPage(built) {
  const { planJsonSchema } = await built('packages/experiments/src/experiment/plan-schema.js')
  const { FORMATS } = await built('src/rules/file/formats.js')
  const root = planJsonSchema()
  const tables = schemaTables(root, FORMATS)
  const keys = Object.entries(root.properties)
  const sections = keys.flatMap(([key, node]) => {
    const rows = key === 'rules' ? [] : tables(node)
    return rows.length === 0 ? [] : [`## ${key}`, node.description, ...rows]
  })
  const rows = keys.map(([key, { description }]) => [
    sections.includes(`## ${key}`) ? `[\`${key}\`](#${key.toLowerCase()})` : `\`${key}\``,
    root.required.includes(key) ? 'yes' : '',
    cell(description),
  ])
  return `${[
    GENERATED,
    '# Experiment plan file',
    'Look up a key of the plan for a chaos experiment with [`squall experiment`](../guides/experiments.md). Paths are relative to the plan file. Inline `rules` have the format of the `rules` list in [a rules file](rules.md). `squall schema experiment` prints the JSON Schema for editors.',
    table(['Key', 'Required', 'Meaning'], rows),
    ...sections,
  ].join('\n\n')}\n`
}
