const WIDTH = 760
const MARGIN = 20
const HEAD = 66
const CHARACTER = 7.9
const ROOM_FOR_VALUE = 110
const THICK = 18
const THIN = 11
const BETWEEN = 10
/**
 * A bar this many times as long as the middle one is cut, so that the others can be distinguished.
 */
const LONG = 3
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/**
 * One line of a chart: a bar, or several that belong together.
 * @typedef {object} Row
 * @property {string} label
 * @property {boolean} ours                       drawn in the colour that stands out
 * @property {readonly number[]} values           one for each series
 * @property {readonly [number, number]} [range]  lowest and highest of the only value
 */

/**
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} about              what the bars mean, and which way is better
 * @property {string} unit
 * @property {number} decimals
 * @property {readonly Row[]} rows
 * @property {readonly string[]} [series]  names of the bars of a row, when there are several
 * @property {{ value: number, label: string }} [mark]  a value that matters, as a line across
 */

/** Describes a chart in words. @param {Chart} chart */
export function chartText({ title, unit, decimals, rows, series = [] }) {
  const shown = rows.map(({ label, values }) => {
    const figures = values.map((value, i) =>
      [series[i], value.toFixed(decimals)].filter((word) => word !== undefined).join(' '),
    )
    return `${label} ${figures.join(', ')}`
  })
  return `${title}, in ${unit}: ${shown.join('; ')}.`
}

/** Horizontal bars as a picture for light and dark pages. @param {Chart} chart */
export function barChart(chart) {
  const { title, about, rows, series = [], marker } = chart
  const bars = Math.max(1, series.length)
  const rowHeight = (bars > 1 ? bars * THIN : THICK) + BETWEEN
  const top = HEAD + (bars > 1 ? 22 : 0) + (marker === undefined ? 0 : 16)
  const left = MARGIN + Math.max(...rows.map(({ label }) => label.length)) * CHARACTER + 10
  const room = WIDTH - MARGIN - ROOM_FOR_VALUE - left
  const longest = scaleEnd(
    rows.flatMap(({ values }) => values),
    marker?.value ?? 0,
  )
  const space = { left, room, longest }
  const height = top + rows.length * rowHeight + MARGIN - BETWEEN + 6
  const parts = [
    ...(bars > 1 ? legend(series) : []),
    ...(marker === undefined ? [] : markLine(marker, space, top, height)),
    ...rows.flatMap((row, i) => rowOf(row, chart, space, top + i * rowHeight)),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title about">
<title id="title">${escaped(title)}</title>
<desc id="about">${escaped(chartText(chart))}</desc>
${STYLE}
<rect class="page" width="${WIDTH}" height="${height}" rx="10"/>
<text class="title" x="${MARGIN}" y="30">${escaped(title)}</text>
<text class="quiet" x="${MARGIN}" y="50">${escaped(about)}</text>
${parts.join('\n')}
</svg>
`
}

const STYLE = `<style>
svg { --page: #ffffff; --text: #1f2328; --quiet: #59636e; --ours: #1f6feb; --other: #7d8894; --mark: #bc4c00 }
@media (prefers-color-scheme: dark) {
svg { --page: #151b23; --text: #e6edf3; --quiet: #9aa4af; --ours: #58a6ff; --other: #768390; --mark: #f0883e }
}
text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; fill: var(--text) }
.page { fill: var(--page) }
.title { font-size: 16px; font-weight: 600 }
.quiet { font-size: 12px; fill: var(--quiet) }
.small { font-size: 11px }
.value { paint-order: stroke; stroke: var(--page); stroke-width: 4px }
.strong { font-weight: 600 }
.ours { fill: var(--ours) }
.other { fill: var(--other) }
.s1 { opacity: 0.7 }
.s2 { opacity: 0.45 }
.gap { stroke: var(--page); stroke-width: 3 }
.range { stroke: var(--text); stroke-width: 1 }
.mark { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 4 3 }
.named { font-size: 11px; fill: var(--mark) }
</style>`

/**
 * The value that takes the whole width: the longest that is not out of all proportion.
 * @param {readonly number[]} values
 * @param {number} mark
 */
export function scaleEnd(values, marker) {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b)
  const middle = sorted[sorted.length >> 1] ?? 1
  const fitting = sorted.filter((value) => value <= Math.max(middle * LONG, marker))
  return Math.max(fitting.at(-1) ?? 1, marker)
}

/** @param {readonly string[]} series */
function legend(series) {
  let x = MARGIN
  return series.flatMap((name, i) => {
    const at = x
    x += 24 + name.length * CHARACTER + 16
    return [
      `<rect class="other s${i}" x="${at}" y="${HEAD - 4}" width="12" height="12" rx="2"/>`,
      `<text class="quiet" x="${at + 18}" y="${HEAD + 6}">${escaped(name)}</text>`,
    ]
  })
}

/** @typedef {{ left: number, room: number, longest: number }} Space */

/** @param {{ value: number, label: string }} mark @param {Space} space @param {number} top @param {number} height */
function markLine({ value, label }, { left, room, longest }, top, height) {
  const x = round(left + (value / longest) * room)
  return [
    `<line class="mark" x1="${x}" y1="${top - 8}" x2="${x}" y2="${height - MARGIN + 4}"/>`,
    `<text class="named" x="${x}" y="${top - 12}" text-anchor="middle">${escaped(label)}</text>`,
  ]
}

/** @param {Row} row @param {Chart} chart @param {Space} space @param {number} y */
function rowOf({ label, ours, values, range }, { decimals }, { left, room, longest }, y) {
  const thick = values.length > 1 ? THIN : THICK
  const strong = ours ? ' strong' : ''
  const middle = y + (values.length * thick) / 2
  const parts = [
    `<text class="label${strong}" x="${round(left - 10)}" y="${round(middle + 4.5)}" text-anchor="end">${escaped(label)}</text>`,
  ]
  for (const [i, value] of values.entries()) {
    const at = y + i * thick
    const cut = value > longest
    const width = cut ? room : Math.max((Math.max(value, 0) / longest) * room, 1)
    const fill = `${ours ? 'ours' : 'other'} s${i}`
    parts.push(
      `<rect class="${fill}" x="${round(left)}" y="${round(at)}" width="${round(width)}" height="${thick - 1}" rx="2"/>`,
    )
    if (cut) {
      const x = left + room - 22
      parts.push(
        `<line class="gap" x1="${round(x)}" y1="${round(at + thick)}" x2="${round(x + 8)}" y2="${round(at - 1)}"/>`,
      )
    }
    const far = range === undefined || cut ? 0 : (Math.min(range[1], longest) / longest) * room
    if (far > 0 && range !== undefined) {
      const near = (Math.min(range[0], longest) / longest) * room
      const line = round(at + thick / 2 - 0.5)
      parts.push(
        `<line class="range" x1="${round(left + near)}" y1="${line}" x2="${round(left + far)}" y2="${line}"/>`,
      )
    }
    const shown = `${value.toFixed(decimals)}${cut ? ' (bar cut)' : ''}`
    const size = values.length > 1 ? ' small' : ''
    parts.push(
      `<text class="value${size}${strong}" x="${round(left + Math.max(width, far) + 7)}" y="${round(at + thick / 2 + 4)}">${shown}</text>`,
    )
  }
  return parts
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll(/[&<>"]/g, (marker) => ENTITIES[marker])
}
