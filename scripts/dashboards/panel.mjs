import { anyOf, COLOURS, NEUTRAL } from './colours.mjs'

/** Where every query goes: what the reader chose, never a fixed one. */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }

/**
 * Creates the common parts of every panel. A query is `{ expr, legend, role, shades }`: the
 * role is a name in COLOURS, and shades distinguishes several series of one role.
 */
function panel(
  type,
  definition,
  { options, custom = {}, format = 'time_series', instant = false },
) {
  const {
    title,
    description,
    unit,
    queries,
    size,
    thresholds = NEUTRAL,
    mappings = [],
  } = definition
  const { min, max, overrides = [], transformations } = definition
  // Counts are integers; columns of a table have units of their own.
  const whole = unit === 'short' && type !== 'table' ? 0 : undefined
  const { decimals = whole } = definition
  return {
    type,
    title,
    description,
    size,
    datasource: DATASOURCE,
    targets: queries.map((query, index) => target(query, refOf(index), format, instant)),
    fieldConfig: {
      defaults: {
        unit,
        ...(decimals === undefined ? {} : { decimals }),
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max }),
        color: { mode: ['stat', 'table'].includes(type) ? 'thresholds' : 'palette-classic' },
        custom,
        mappings,
        thresholds: { mode: 'absolute', steps: thresholds },
      },
      overrides: [...queries.flatMap((query, index) => colour(query, refOf(index))), ...overrides],
    },
    options,
    ...(transformations === undefined ? {} : { transformations }),
  }
}

function refOf(index) {
  return String.fromCodePoint(65 + index)
}

function target({ expr, legend = '__auto' }, refId, format, instant) {
  const lines = expr.trim().replaceAll(/\s*\n\s*/g, ' ')
  const mode = { instant, range: !instant }
  return {
    datasource: DATASOURCE,
    editorMode: 'code',
    expr: lines,
    format,
    ...mode,
    legendFormat: legend,
    refId,
  }
}

function colour({ role, shades = false }, refId) {
  if (role === undefined) return []
  const fixedColor = COLOURS[role]
  if (fixedColor === undefined) throw new Error(`no colour for ${role}`)
  const value = { mode: shades ? 'shades' : 'fixed', fixedColor }
  return [{ matcher: { id: 'byFrameRefID', options: refId }, properties: [{ id: 'color', value }] }]
}

/**
 * Lines over time; `stack` piles them up, `bars` draws events. Each query has a role: a palette
 * would take red and purple, too.
 */
export function series(definition) {
  const without = definition.queries.find(({ role }) => role === undefined)
  if (without !== undefined) throw new Error(`${definition.title}: ${without.legend} has no role`)
  const { stack = false, bars = false, line, size = [12, 8] } = definition
  const custom = {
    drawStyle: bars ? 'bars' : 'line',
    fillOpacity: stack ? 40 : bars ? 80 : 8,
    lineWidth: 1,
    showPoints: 'never',
    spanNulls: false,
    stacking: { mode: stack ? 'normal' : 'none', group: 'A' },
    // A line is drawn where a threshold means something to be kept to.
    thresholdsStyle: { mode: line === true ? 'dashed' : 'off' },
  }
  const legend = {
    displayMode: 'table',
    placement: 'bottom',
    showLegend: true,
    calcs: ['lastNotNull', definition.extreme ?? 'max'],
  }
  return panel(
    'timeseries',
    { ...definition, size, min: definition.signed === true ? undefined : 0 },
    { options: { legend, tooltip: { mode: 'multi', sort: 'desc' } }, custom },
  )
}

/** One number. With a role it has the colour of that, and is grey while it is zero. */
export function stat(definition) {
  const { role, thresholds = role === undefined ? NEUTRAL : anyOf(role) } = definition
  const options = {
    colorMode: 'value',
    graphMode: definition.instant === true ? 'none' : 'area',
    justifyMode: 'auto',
    orientation: 'auto',
    percentChangeColorMode: 'standard',
    showPercentChange: false,
    wideLayout: true,
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: definition.queries.length > 1 ? 'value_and_name' : 'auto',
  }
  const instant = definition.instant === true
  const size = definition.size ?? [4, 4]
  return panel('stat', { ...definition, thresholds, size }, { options, instant })
}

/** States over time, a row each. */
export function states(definition) {
  const options = {
    mergeValues: true,
    rowHeight: 0.9,
    showValue: 'never',
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: 'single', sort: 'none' },
  }
  const custom = { fillOpacity: 70, lineWidth: 0 }
  const made = panel(
    'state-timeline',
    { ...definition, size: definition.size ?? [12, 7] },
    { options, custom },
  )
  made.fieldConfig.defaults.color = { mode: 'thresholds' }
  return made
}

/** Creates a panel that shows the distribution of a histogram over time. */
export function heatmap(definition) {
  const options = {
    calculate: false,
    cellGap: 1,
    color: {
      mode: 'scheme',
      fill: 'dark-blue',
      scheme: definition.scheme ?? 'Blues',
      steps: 64,
      reverse: false,
      exponent: 0.5,
    },
    exemplars: { color: 'rgba(255,255,255,0.7)' },
    legend: { show: true },
    showValue: 'never',
    rowsFrame: { layout: 'auto' },
    tooltip: { mode: 'single', showColorScale: false, yHistogram: false },
    yAxis: { axisPlacement: 'left', unit: definition.unit, reverse: false },
  }
  return panel(
    'heatmap',
    { ...definition, size: definition.size ?? [12, 8] },
    { options, format: 'heatmap' },
  )
}

/**
 * A table of what holds now. Each query is a column named `column`, joined by the labels `by`;
 * further keys of a query (`unit`, `thresholds`, `mappings`, `decimals`) are those of its column.
 */
export function table(definition) {
  const { queries, by, sortBy } = definition
  const several = queries.length > 1
  const valueOf = (index) => (several ? `Value #${refOf(index)}` : 'Value')
  const names = Object.fromEntries(queries.map(({ column }, index) => [valueOf(index), column]))
  const order = [...by, ...queries.map((_, index) => valueOf(index))]
  const exclude = definition.hideValue === true ? { Value: true } : {}
  const organize = {
    excludeByName: { Time: true, ...exclude },
    indexByName: Object.fromEntries(order.map((name, index) => [name, index])),
    renameByName: names,
  }
  const columns = queries.flatMap(({ column, unit, thresholds, mappings, decimals, role }) => {
    const properties = []
    if (unit !== undefined) properties.push({ id: 'unit', value: unit })
    if (decimals !== undefined) properties.push({ id: 'decimals', value: decimals })
    if (mappings !== undefined) properties.push({ id: 'mappings', value: mappings })
    if (thresholds !== undefined) {
      properties.push({ id: 'thresholds', value: { mode: 'absolute', steps: thresholds } })
      properties.push({
        id: 'custom.cellOptions',
        value: { type: 'color-background', mode: 'basic' },
      })
    } else if (role !== undefined) {
      properties.push({ id: 'thresholds', value: { mode: 'absolute', steps: anyOf(role) } })
      properties.push({ id: 'custom.cellOptions', value: { type: 'color-text' } })
    }
    return properties.length === 0
      ? []
      : [{ matcher: { id: 'byName', options: column }, properties }]
  })
  const custom = {
    align: 'auto',
    cellOptions: { type: 'auto' },
    filterable: false,
    inspect: false,
  }
  const options = {
    cellHeight: 'sm',
    frameIndex: 0,
    showHeader: true,
    ...(sortBy === undefined
      ? {}
      : { sortBy: [{ displayName: sortBy.column, desc: sortBy.desc }] }),
  }
  const made = panel(
    'table',
    {
      ...definition,
      // The columns say which query is which; the role of one is its column's colour where it is
      // not zero.
      queries: queries.map(({ expr }) => ({ expr })),
      overrides: columns,
      size: definition.size ?? [24, 8],
      transformations: [
        ...(several ? [{ id: 'merge', options: {} }] : []),
        { id: 'organize', options: organize },
      ],
    },
    { options, custom, format: 'table', instant: true },
  )
  return made
}
