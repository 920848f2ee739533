import uPlot from './uPlot.esm.js'
import { browserColour, formatted, stepColour } from './units.js'

const look = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)
const AXIS = {
  stroke: look('quiet'),
  grid: { stroke: look('line'), width: 1 },
  ticks: { show: false },
}
const LEGEND_LINE = 16

/** Lines or bars over time, with marks, thresholds and a legend below. */
export function drawGraph(box, { panel, lines }, { times, markers }) {
  const { defaults } = panel.fieldConfig
  const { custom } = defaults
  const stacked = custom.stacking.mode === 'normal'
  const height = box.clientHeight - 26
  const rows = Math.min(lines.length + 1, Math.floor((height * 0.4) / LEGEND_LINE))
  drawLegend(box, lines, panel, rows)
  const data = stacked ? piled(lines) : lines.map(({ values }) => values)
  const top = Math.max(0, ...data.flat().filter((value) => value !== null))
  const series = lines.map(({ colour }) => ({
    stroke: colour,
    width: custom.lineWidth,
    fill: hex(colour, custom.fillOpacity),
    points: { show: false },
    ...(custom.drawStyle === 'bars' ? { paths: uPlot.paths.bars({ size: [0.9, 20] }) } : {}),
  }))
  const bands = stacked
    ? lines.slice(1).map((_, index) => ({ series: [index + 2, index + 1] }))
    : []
  const scale = {
    range: (_, low, high) => [
      defaults.min ?? Math.min(low ?? 0, 0),
      defaults.max ?? ((high ?? top) > 0 ? (high ?? top) * 1.08 : 1),
    ],
  }
  plot(box, {
    height: height - rows * LEGEND_LINE - 4,
    data: [times, ...data],
    series,
    bands,
    scale,
    unit: defaults.unit,
    draw: (chart) => {
      drawMarks(chart, markers)
      if (custom.thresholdsStyle.mode !== 'off') drawThresholds(chart, defaults.thresholds.steps)
    },
  })
}

function plot(box, { height, data, series, bands = [], scale, unit, draw }) {
  const target = document.createElement('div')
  box.append(target)
  const options = {
    width: box.clientWidth - 4,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [6, 12, 0, 0],
    scales: { x: { time: true }, y: scale },
    axes: [
      { ...AXIS, size: 26, space: 90, values: (_, ticks) => ticks.map(clock) },
      { ...AXIS, size: 74, values: (_, ticks) => ticks.map((tick) => formatted(tick, unit)) },
    ],
    series: [{}, ...series],
    bands,
    hooks: { draw: [draw] },
  }
  return new uPlot(options, data, target)
}

function clock(seconds) {
  return new Date(seconds * 1000).toISOString().slice(11, 19)
}

/** Each on top of those before it. */
function piled(lines) {
  const sums = lines[0].values.map(() => 0)
  return lines.map(({ values }) => values.map((value, at) => (sums[at] += value ?? 0)))
}

function drawLegend(box, lines, { fieldConfig, options }, rows) {
  const { unit, decimals } = fieldConfig.defaults
  const extreme = options.legend.calcs[1]
  const table = document.createElement('table')
  table.className = 'legend'
  const add = (cells, colour) => {
    const row = table.insertRow()
    cells.forEach((text) => (row.insertCell().textContent = text))
    if (colour === undefined) return
    const key = document.createElement('i')
    key.style.background = colour
    row.cells[0].prepend(key)
  }
  add(['Name', 'Last', extreme === 'min' ? 'Min' : 'Max'])
  const shown = lines.length > rows - 1 ? lines.slice(0, rows - 2) : lines
  for (const { name, colour, values } of shown) {
    const known = values.filter((value) => value !== null)
    const most = known.length === 0 ? null : Math[extreme](...known)
    add(
      [name, known.at(-1), most].map((v, at) => (at ? formatted(v, unit, decimals) : v)),
      colour,
    )
  }
  if (shown.length < lines.length) add([`… ${lines.length - shown.length} more`])
  box.append(table)
}

function drawMarks({ ctx, bbox, valToPos }, markers) {
  for (const { at, colour } of markers) {
    const x = Math.round(valToPos(at, 'x', true))
    line(ctx, browserColour(colour), [x, bbox.top, x, bbox.top + bbox.height])
  }
}

function drawThresholds({ ctx, bbox, scales, valToPos }, steps) {
  for (const { value, color } of steps) {
    if (value === null || value > scales.y.max || value < scales.y.min) continue
    const y = Math.round(valToPos(value, 'y', true))
    line(ctx, browserColour(color), [bbox.left, y, bbox.left + bbox.width, y])
  }
}

function line(ctx, colour, [x0, y0, x1, y1]) {
  ctx.save()
  ctx.strokeStyle = colour
  ctx.setLineDash([6, 4])
  ctx.beginPath()
  ctx.moveTo(x0, y0)
  ctx.lineTo(x1, y1)
  ctx.stroke()
  ctx.restore()
}

function hex(colour, percent) {
  return `${colour}${Math.round(percent * 2.55)
    .toString(16)
    .padStart(2, '0')}`
}

/** A row of bars for each series, coloured by thresholds. */
export function drawStates(box, { panel, lines }, { times }) {
  const { steps } = panel.fieldConfig.defaults.thresholds
  const { mappings } = panel.fieldConfig.defaults
  const { ctx, width, height } = canvas(box, 30)
  const row = (height - 20) / lines.length
  const cell = (width - 200) / times.length
  lines.forEach(({ name, values }, nth) => {
    ctx.fillStyle = look('text')
    ctx.fillText(name, 4, nth * row + row / 2)
    values.forEach((value, at) => {
      if (value === null) return
      ctx.fillStyle = stepColour(steps, value)
      ctx.fillRect(200 + at * cell, nth * row + row * 0.05, cell + 1, row * 0.9)
    })
  })
  let x = 200
  for (const { text } of mappings.flatMap(({ options }) => Object.values(options))) {
    const value = Number(
      mappings.flatMap(({ options }) => Object.entries(options)).find((e) => e[1].text === text)[0],
    )
    ctx.fillStyle = stepColour(steps, value)
    ctx.fillRect(x, height - 10, 12, 6)
    ctx.fillStyle = look('text')
    ctx.fillText(text, x + 16, height - 4)
    x += 90
  }
}

/**
 * Darker where there is more; buckets hold all below their bound, so the one before is taken off.
 */
export function drawHeatmap(box, { panel, lines }, { times }) {
  const { unit } = panel.fieldConfig.defaults
  const sorted = lines
    .filter(({ labels }) => labels.le !== '+Inf')
    .toSorted((a, b) => Number(a.labels.le) - Number(b.labels.le))
  const own = sorted.map(({ values }, nth) =>
    values.map((value, at) => Math.max(0, (value ?? 0) - (sorted[nth - 1]?.values[at] ?? 0))),
  )
  const most = Math.max(...own.flat(), 1e-9)
  const { ctx, width, height } = canvas(box, 30)
  const row = height / sorted.length
  const cell = (width - 80) / times.length
  own.forEach((values, nth) => {
    const y = height - (nth + 1) * row
    ctx.fillStyle = look('text')
    ctx.fillText(formatted(Number(sorted[nth].labels.le), unit), 4, y + row / 2)
    values.forEach((value, at) => {
      if (value === 0) return
      ctx.fillStyle = `rgba(107, 174, 214, ${(value / most) ** 0.5})`
      ctx.fillRect(80 + at * cell, y, cell, row - 1)
    })
  })
}

/** A small graph without axes. */
export function drawSpark(box, { values }, times, colour) {
  const { ctx, width, height } = canvas(box, box.clientHeight - 44)
  ctx.canvas.className = 'spark'
  const most = Math.max(...values.map((value) => value ?? 0), 1e-9)
  ctx.fillStyle = colour
  ctx.globalAlpha = 0.35
  ctx.beginPath()
  ctx.moveTo(0, height)
  values.forEach((value, at) =>
    ctx.lineTo((at / (times.length - 1)) * width, height * (1 - (value ?? 0) / most)),
  )
  ctx.lineTo(width, height)
  ctx.fill()
}

function canvas(box, above) {
  const element = document.createElement('canvas')
  element.width = box.clientWidth
  element.height = box.clientHeight - above
  box.append(element)
  const ctx = element.getContext('2d')
  ctx.font = '12px system-ui, sans-serif'
  return { ctx, width: element.width, height: element.height }
}
