const SIZE = 14
const ADVANCE = 8.4
const LINE = 20
const MARGIN = 20
const BAR = 34
const COLUMNS = 80
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
/** What a program says by codes, by the class that draws it. */
const CLASSES = { 1: 'strong', 2: 'quiet', 31: 'real', 32: 'good', 35: 'injected' }

/** Lines of a terminal, with their colours, as a picture whose text stays text. */
export function terminalSvg(lines, { title, about }) {
  const width = COLUMNS * ADVANCE + 2 * MARGIN
  const height = lines.length * LINE + BAR + MARGIN
  const texts = lines.map((line, i) => lineSvg(line, BAR + (i + 1) * LINE - 5))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title about">
<title id="title">${escaped(title)}</title>
<desc id="about">${escaped(about)}</desc>
<style>
text { font: ${SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d5dae2; white-space: pre }
.strong { fill: #ffffff; font-weight: 700 }
.quiet { fill: #8f9aa8 }
.good { fill: #80d8a3 }
.injected { fill: #d3a0ff }
.real { fill: #ff8377 }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#171b22"/>
<circle cx="22" cy="18" r="6" fill="#3b4350"/><circle cx="42" cy="18" r="6" fill="#3b4350"/><circle cx="62" cy="18" r="6" fill="#3b4350"/>
${texts.filter((text) => text !== '').join('\n')}
</svg>
`
}

/** Each part has a place and a length of its own: columns stand whatever font a reader has. */
function lineSvg(line, y) {
  let column = 0
  const spans = partsOf(line).map(({ text, name }) => {
    const x = MARGIN + column * ADVANCE
    const length = [...text].length
    column += length
    if (text.trim() === '') return ''
    const lead = text.length - text.trimStart().length
    const shown = text.trim()
    const place = `x="${round(x + lead * ADVANCE)}" textLength="${round([...shown].length * ADVANCE)}"`
    return `<tspan ${place}${name === undefined ? '' : ` class="${name}"`}>${escaped(shown)}</tspan>`
  })
  const text = spans.join('')
  return text === '' ? '' : `<text y="${y}">${text}</text>`
}

/** The parts of a line that are painted alike; those with a gap between them are parts of their own. */
function partsOf(line) {
  const parts = []
  let name
  // oxlint-disable-next-line no-control-regex
  for (const piece of line.split(/(\u001b\[\d*m)/)) {
    // oxlint-disable-next-line no-control-regex
    const code = /^\u001b\[(\d*)m$/.exec(piece)?.[1]
    if (code !== undefined) name = CLASSES[code]
    else for (const text of piece.split(/(?<=\S)(?= {2,})/)) parts.push({ text, name })
  }
  return parts
}

/** The lines of text in such a picture, without the spaces between their parts. */
export function linesOfSvg(svg) {
  return Array.from(svg.matchAll(/<text [^>]*>(.*)<\/text>/g), ([, spans]) =>
    Array.from(spans.matchAll(/<tspan[^>]*>([^<]*)<\/tspan>/g), ([, text]) => unescaped(text)).join(
      ' ',
    ),
  )
}

function escaped(text) {
  return text.replaceAll(/[&<>]/g, (marker) => ENTITIES[marker])
}

function unescaped(text) {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function round(value) {
  return Math.round(value * 10) / 10
}
