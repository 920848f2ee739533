import { drawGraph, drawHeatmap, drawSpark, drawStates } from './graphs.js'
import { drawTable } from './tables.js'
import { formatted, stepColour } from './units.js'

const COLUMN = 66
const LINE = 36
const GAP = 6

/** One number, with a small graph where it is a range. */
function drawStat(box, { panel, lines }, { times }) {
  const { defaults } = panel.fieldConfig
  const value = lines[0]?.values.findLast((each) => each !== null)
  const div = document.createElement('div')
  div.className = 'stat'
  div.textContent = formatted(value, defaults.unit, defaults.decimals)
  div.style.color = lines[0]?.colour ?? stepColour(defaults.thresholds.steps, value ?? 0)
  box.append(div)
  if (panel.options.graphMode === 'area') drawSpark(box, lines[0], times, div.style.color)
}

const KINDS = {
  timeseries: drawGraph,
  stat: drawStat,
  table: drawTable,
  'state-timeline': drawStates,
  heatmap: drawHeatmap,
}

function place(box, { x, y, w, h }) {
  box.style.left = `${x * COLUMN}px`
  box.style.top = `${y * LINE}px`
  box.style.width = `${w * COLUMN - GAP}px`
  box.style.height = `${h * LINE - GAP}px`
}

async function draw() {
  const picture = await (await fetch('picture.json')).json()
  document.getElementById('title').textContent = picture.title
  const grid = document.getElementById('grid')
  let bottom = 0
  for (const shown of picture.panels) {
    const { type, title, gridPos } = shown.panel
    const box = document.createElement('section')
    box.className = type
    place(box, gridPos)
    grid.append(box)
    bottom = Math.max(bottom, (gridPos.y + gridPos.h) * LINE)
    const heading = document.createElement('h2')
    heading.textContent = title
    box.append(heading)
    if (type === 'row') continue
    if (shown.lines.length === 0) {
      const none = document.createElement('div')
      none.className = 'none'
      none.textContent = 'No data'
      box.append(none)
    } else KINDS[type](box, shown, picture)
    box.dataset.drawn = 'yes'
  }
  grid.style.height = `${bottom}px`
  grid.style.width = `${24 * COLUMN}px`
  document.title = 'drawn'
}

await draw()
