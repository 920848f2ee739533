import { ENDINGS, type Endings } from './endings.ts'
import { htmlText } from './foreign-text.ts'
import { percentage, wholeNumber } from './shown-numbers.ts'

const WIDTH = 1000
const HEIGHT = 10
/** One call in a million is to be seen as well. */
const LEAST = 5

/** Draws outcomes as a bar whose length is a share of its row. */
export function htmlBar(endings: Endings, share = 1, label?: string): string {
  const parts = ENDINGS.map(({ name }) => ({ name, count: endings[name] }))
  const calls = parts.reduce((sum, { count }) => sum + count, 0)
  const length = Math.max(LEAST, WIDTH * share)
  const rare = parts.filter(({ count }) => count > 0 && (count / calls) * length < LEAST)
  const rareCalls = rare.reduce((sum, { count }) => sum + count, 0)
  // The frequent outcomes give up the width that the rare ones need to be visible.
  const perCall = (length - rare.length * LEAST) / (calls - rareCalls)
  let x = 0
  const rects = parts.map(({ name, count }) => {
    if (count === 0) return ''
    const width = rare.some((part) => part.name === name) ? LEAST : count * perCall
    const rect = `<rect class="${name}" x="${round(x)}" width="${round(width)}" height="${HEIGHT}"/>`
    x += width
    return rect
  })
  const accessible =
    label === undefined ? 'aria-hidden="true"' : `role="img" aria-label="${htmlText(label)}"`
  return `<svg class="bar" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" ${accessible}>${rects.join('')}</svg>`
}

/** Explains the colours of a bar, with their counts. */
export function htmlLegend(endings: Endings, calls: number): string {
  const items = ENDINGS.filter(({ name }) => endings[name] > 0).map(
    ({ name, label }) =>
      `<li><span class="swatch ${name}"></span> ${htmlText(label)} <b>${wholeNumber(endings[name])}</b> <span class="muted">${htmlText(percentage(endings[name] / calls))}</span></li>`,
  )
  return `<ul class="legend">${items.join('')}</ul>`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
