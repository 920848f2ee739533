import { readFile } from 'node:fs/promises'
import { isMap, parseDocument, stringify } from 'yaml'
import { PROVISIONED } from './dashboards.mjs'
import { cell, GENERATED, table } from './markdown.mjs'

const DEPLOY = new URL('../../deploy/', import.meta.url)
const read = (path) => readFile(new URL(path, DEPLOY), 'utf8')

/** The files copied into the chart: Helm reads no file outside the chart's directory. */
export const CHART_FILES = [
  ...PROVISIONED,
  ...['alerts', 'indicators'].map((name) => ({
    path: `deploy/chart/files/prometheus/${name}.yml`,
    make: () => read(`prometheus/${name}.yml`),
  })),
  { path: 'deploy/chart/files/defaults.yaml', make: chartDefaults },
  { path: 'deploy/chart/README.md', make: chartReadme },
]

/** Returns the default of each value by its path: templates cannot read values.yaml. */
async function chartDefaults() {
  const rows = valueRows(await read('chart/values.yaml'))
  const text = stringify(Object.fromEntries(rows.map(({ key, value }) => [key, value])))
  return `# Made from values.yaml by npm run generate.\n${text}`
}

async function chartReadme() {
  const rows = valueRows(await read('chart/values.yaml'))
  const cells = rows.map(({ key, value, about }) => [`\`${key}\``, `\`${shown(value)}\``, about])
  const values = table(['Value', 'Default', 'Meaning'], cells.map(noBars))
  return `${GENERATED}

${(await readFile(new URL('chart-readme.md', import.meta.url), 'utf8')).replace('VALUES', () => values)}`
}

/** Returns each value of the chart with its default and its comment, without the file's own comment. */
export function valueRows(text) {
  const { contents } = parseDocument(text)
  return rowsOf(contents, '')
}

function rowsOf(map, prefix) {
  return map.items.flatMap(({ key, value }, index) => {
    const name = `${prefix}${key.value}`
    // The parser assigns the comment of the first key to the map, with that of the file before it.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined)
    const about = comment
      ?.split(/\n\s*\n/)
      .at(-1)
      .trim()
    if (about === undefined && isMap(value)) return rowsOf(value, `${name}.`)
    return [{ key: name, value: value.toJSON(), about }]
  })
}

function shown(value) {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}

function noBars(cells) {
  return cells.map((text) => cell(text ?? ''))
}
