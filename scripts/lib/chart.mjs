import { readFile } from 'node:fs/promises'
import { isMap, parseDocument, stringify } from 'yaml'
import { PROVISIONED } from './dashboards.mjs'
import { cell, GENERATED, table } from './markdown.mjs'

const DEPLOY = new URL('../../deploy/', import.meta.url)
const read = (path) => readFile(new URL(path, DEPLOY), 'utf8')

/** The files copied into the chart, which can read no file outside of its directory. */
export const CHART_FILES = [
  ...PROVISIONED,
  ...['alerts', 'indicators'].map((name) => ({
    path: `deploy/chart/files/prometheus/${name}.yml`,
    make: () => read(`prometheus/${name}.yml`),
  })),
  { path: 'deploy/chart/files/defaults.yaml', make: chartDefaults },
  { path: 'deploy/chart/README.md', make: chartReadme },
]

/** Returns each value with its default, by its path: a chart cannot read its own values.yaml. */
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

/** Each value of the chart with its default and what its comment says. */
export function valueRows(text) {
  const { contents } = parseDocument(text)
  return rowsOf(contents, '')
}

function rowsOf(map, prefix) {
  return map.items.flatMap(({ key, value }, index) => {
    const name = `${prefix}${key.value}`
    // The comment of the first key belongs to the map, as far as the parser is concerned.
    const about = (key.commentBefore ?? (index === 0 ? map.commentBefore : undefined))?.trim()
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
