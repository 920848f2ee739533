const WIDTH = 960
const NAMES = 330
const ROW = 30
const TOP = 44
const RIGHT = 210
const COLOURS = { agent: '#2f6fb5', squall: '#7a2fc4', tools: '#177a41' }
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Draws the spans of one trace below each other, children under their parent, on one line of time. */
export function traceSvg(spans) {
  const rows = rowsOf(spans, '', 0)
  const from = Math.min(...spans.map(({ start }) => start))
  // Some verdicts come when the task is over.
  const to = Math.max(...spans.filter(({ verdict }) => !verdict).map(({ end }) => end))
  const scale = (WIDTH - NAMES - RIGHT) / (to - from)
  const x = (at) => Number((NAMES + (Math.min(at, to) - from) * scale).toFixed(1))
  const height = TOP + rows.length * ROW + 16
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title about">
<title id="title">A trace with an injected fault</title>
<desc id="about">${escaped(rows.map(({ span }) => `${span.service}: ${span.name}`).join(', '))}. The span of Squall is a child of the agent's span and a sibling of the server's.</desc>
<style>
text { font: 13px system-ui, sans-serif; fill: #2b323c }
.small { font-size: 12px; fill: #66707d }
.error { fill: #c2291b }
</style>
<rect width="${WIDTH}" height="${height}" rx="10" fill="#f6f7f9"/>
<text class="small" x="16" y="26">service and span</text>
<text class="small" x="${NAMES}" y="26">0 ms</text>
<text class="small" x="${WIDTH - RIGHT}" y="26" text-anchor="end">${Math.round(to - from)} ms</text>
${rows.map((row, i) => rowSvg(row, TOP + i * ROW, x)).join('\n')}
</svg>
`
}

function rowsOf(spans, parent, depth) {
  return spans
    .filter((span) => span.parent === parent)
    .sort((a, b) => a.start - b.start)
    .flatMap((span) => [{ span, depth }, ...rowsOf(spans, span.id, depth + 1)])
}

function rowSvg({ span, depth }, y, x) {
  const colour = COLOURS[span.service]
  const [start, end] = [x(span.start), Math.max(x(span.start) + 3, x(span.end))]
  const marks = span.events.map(
    ({ at }) => `<path d="M${x(at)} ${y - 3}l6 10l-6 10l-6 -10z" fill="#f2c14e" stroke="#8a5a00"/>`,
  )
  const faults = span.events.map(({ fault }) => fault).filter(Boolean)
  const said = [
    ...faults,
    span.origin && span.error ? `${span.error} ${span.origin}` : '',
    span.verdict ?? '',
  ].filter(Boolean)
  return `<text x="${16 + depth * 22}" y="${y + 11}"><tspan fill="${colour}" font-weight="700">${escaped(span.service)}</tspan> ${escaped(span.name)}</text>
<rect x="${start}" y="${y}" width="${(end - start).toFixed(1)}" height="14" rx="3" fill="${colour}"/>${marks.join('')}
<text class="small${span.error ? ' error' : ''}" x="${end + 10}" y="${y + 11}">${escaped(said.join(', '))}</text>`
}

function escaped(text) {
  return text.replaceAll(/[&<>"]/g, (marker) => ENTITIES[marker])
}
