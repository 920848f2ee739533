const SIZE = 14
const ADVANCE = 8.4
const LINE = 20
const MARGIN = 20
const BAR = 34
const COLUMNS = 80
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
/** The classes of text weights, by terminal code. */
const WEIGHTS = { 1: 'strong', 2: 'quiet' }
const COLOURS = { 31: 'real', 32: 'good', 33: 'caution', 35: 'injected' }

const SCHEMES = {
  dark: {
    page: '#171b22',
    bar: '#3b4350',
    text: '#d5dae2',
    strong: '#ffffff',
    quiet: '#8f9aa8',
    good: '#80d8a3',
    injected: '#d3a0ff',
    caution: '#f2c14e',
    real: '#ff8377',
  },
  light: {
    page: '#f6f7f9',
    bar: '#c9ced6',
    text: '#2b323c',
    strong: '#000000',
    quiet: '#66707d',
    good: '#177a41',
    injected: '#7a2fc4',
    caution: '#8a5a00',
    real: '#c2291b',
  },
}

/** Draws lines of a terminal, with their colours, as a picture whose text stays text. */
export function terminalSvg(lines, { title, about, columns = COLUMNS, scheme = 'dark' }) {
  const colours = SCHEMES[scheme]
  const width = columns * ADVANCE + 2 * MARGIN
  const height = lines.length * LINE + BAR + MARGIN
  const texts = lines.map((line, i) => lineSvg(line, BAR + (i + 1) * LINE - 5))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title about">
<title id="title">${escaped(title)}</title>
<desc id="about">${escaped(about)}</desc>
<style>
text { font: ${SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: ${colours.text}; white-space: pre }
.strong { fill: ${colours.strong}; font-weight: 700 }
.quiet { fill: ${colours.quiet} }
.good { fill: ${colours.good} }
.injected { fill: ${colours.injected} }
.caution { fill: ${colours.caution} }
.real { fill: ${colours.real} }
</style>
<rect width="${width}" height="${height}" rx="10" fill="${colours.page}"/>
<circle cx="22" cy="18" r="6" fill="${colours.bar}"/><circle cx="42" cy="18" r="6" fill="${colours.bar}"/><circle cx="62" cy="18" r="6" fill="${colours.bar}"/>
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

/**
 * The parts of a line that are painted alike; those with a gap between them are parts of their own.
 */
function partsOf(line) {
  const parts = []
  let weight
  let colour
  // oxlint-disable-next-line no-control-regex
  for (const piece of line.split(/(\u001b\[\d*m)/)) {
    // oxlint-disable-next-line no-control-regex
    const code = /^\u001b\[(\d*)m$/.exec(piece)?.[1]
    if (code === '0' || code === '') weight = colour = undefined
    else if (code in WEIGHTS || code === '22') weight = WEIGHTS[code]
    else if (code in COLOURS || code === '39') colour = COLOURS[code]
    else if (code === undefined)
      for (const text of piece.split(/(?<=\S)(?= {2,})/))
        parts.push({ text, name: colour ?? weight })
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
