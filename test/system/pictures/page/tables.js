import { formatted, stepColour } from './units.js'

/** Draws a table of current values: the responses to several queries, joined by their labels. */
export function drawTable(box, { panel, lines }) {
  const { options, fieldConfig, transformations } = panel
  const organize = transformations.find(({ id }) => id === 'organize').options
  const several = panel.targets.length > 1
  const rows = new Map()
  for (const { labels, refId, values } of lines) {
    const key = JSON.stringify(labels)
    const row = rows.get(key) ?? { ...labels }
    row[several ? `Value #${refId}` : 'Value'] = values[0]
    rows.set(key, row)
  }
  const columns = Object.keys(organize.indexByName)
    .filter((name) => organize.excludeByName[name] !== true)
    .filter((name) => [...rows.values()].some((row) => row[name] !== undefined))
    .toSorted((a, b) => organize.indexByName[a] - organize.indexByName[b])
    .map((name) => ({ name, title: organize.renameByName[name] ?? name }))
  const sorted = [...rows.values()]
  for (const { displayName, desc } of options.sortBy ?? []) {
    const by = columns.find(({ title }) => title === displayName)
    if (by === undefined) continue
    sorted.sort((a, b) => (desc ? -1 : 1) * ((a[by.name] ?? -Infinity) - (b[by.name] ?? -Infinity)))
  }
  const table = document.createElement('table')
  const head = table.insertRow()
  for (const { title } of columns) {
    const cell = document.createElement('th')
    cell.textContent = title
    head.append(cell)
  }
  for (const row of sorted) {
    const line = table.insertRow()
    for (const { name, title } of columns) {
      fill(line.insertCell(), row[name], settings(fieldConfig, title))
    }
  }
  box.append(table)
}

/** Returns the settings of a column: the defaults with its own overrides. */
function settings({ defaults, overrides }, title) {
  const own = overrides.find(({ matcher }) => matcher.options === title)?.properties ?? []
  const of = (id) => own.find((property) => property.id === id)?.value
  return {
    unit: of('unit') ?? defaults.unit,
    decimals: of('decimals') ?? defaults.decimals,
    steps: (of('thresholds') ?? defaults.thresholds).steps,
    mappings: of('mappings') ?? defaults.mappings ?? [],
    cell: of('custom.cellOptions')?.type,
  }
}

function fill(cell, value, { unit, decimals, steps, mappings, cell: kind }) {
  if (typeof value !== 'number') {
    cell.textContent = value ?? ''
    return
  }
  const mapped = mappings.map(({ options }) => options[value]?.text).find((text) => text)
  cell.textContent = mapped ?? formatted(value, unit, decimals)
  const shown = stepColour(steps, value)
  if (kind === 'color-background' && shown !== 'transparent') {
    cell.style.background = shown
    cell.style.color = '#111217'
  }
  if (kind === 'color-text') cell.style.color = shown
}
