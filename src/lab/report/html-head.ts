import { foreign } from '../../base/text/foreign-text.ts'
import { ENDINGS, type Endings, endingsOf } from './endings.ts'
import { htmlText } from './foreign-text.ts'
import { callsPerSecond } from './report-table.ts'
import type { ReportAbout, TitledRun } from './report.ts'
import { duration, latency, moment, percentage, wholeNumber } from './shown-numbers.ts'
import { gateVerdict, taskVerdict, verdictOf } from './verdict.ts'

const MARK = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M9 1 3 9h4l-1 6 7-9H8z"/></svg>'

/** Renders the head of the report: runs, target and time. */
export function headHtml(runs: readonly TitledRun[], title: string): string {
  const { run } = runs[0]!.result
  const targets = [...new Set(runs.map(({ result }) => result.run.target))]
  const facts = [
    foreign(run.server, 60),
    targets.length === 1 ? foreign(run.target) : `${targets.length} targets`,
    moment(run.startedAt),
    runs.length === 1 ? duration(run.durationMs) : `${runs.length} runs`,
  ]
  return `<header class="top">
<h1>${MARK} ${htmlText(title)}</h1>
<p class="muted">${facts.map((fact) => `<span>${htmlText(fact)}</span>`).join(' · ')}</p>
</header>`
}

/** Renders the result of each run: a sentence, a bar, and the most important figures. */
export function verdictsHtml(runs: readonly TitledRun[], { notes = [] }: ReportAbout): string {
  const parts = runs.map((run, i) => verdictHtml(run, i, runs.length > 1))
  const said = notes.map((note) => `<p>${htmlText(foreign(note, 500))}</p>`)
  const words =
    said.length === 0
      ? ''
      : `<section class="card notes" aria-label="Notes">${said.join('')}</section>`
  const shape = runs.length === 1 ? 'sole' : runs.length % 3 === 0 ? 'several thirds' : 'several'
  const cards = `<div class="${shape}">${parts.join('\n')}</div>`
  // No single run summarizes several.
  return runs.length === 1 ? cards + words : words + cards
}

function verdictHtml({ title, about, result }: TitledRun, i: number, several: boolean): string {
  const endings = endingsOf(result)
  const { calls } = result.counts
  const name = several ? `<h2 id="verdict-${i}">${htmlText(foreign(title))}</h2>` : ''
  const more = [taskVerdict(result), gateVerdict(result)].filter((text) => text !== undefined)
  const early = result.run.complete
    ? ''
    : '<p class="bad">Ended early: a part of what was asked for.</p>'
  return `<section class="card verdict" ${several ? `aria-labelledby="verdict-${i}"` : 'aria-label="Verdict"'}>
${name}
${about === undefined ? '' : `<p class="muted">${htmlText(foreign(about, 300))}</p>`}
<p class="sentence">${kept(verdictOf(result))}</p>
${more.map((text) => `<p class="more">${kept(text)}</p>`).join('\n')}
${early}
${calls === 0 ? '' : htmlBar(endings, 1, verdictOf(result)) + htmlLegend(endings, calls)}
${figures(result)}
</section>`
}

function figures(result: TitledRun['result']): string {
  const { counts, indicators, latency: all } = result
  const facts: [string, string][] = [
    ['Calls per second', wholeNumber(callsPerSecond(result))],
    ['p50', latency(all.summary.p50)],
    ['p99', latency(all.summary.p99)],
    ['Success', percentage(indicators.tcsr)],
    ['Failed tasks', percentage(indicators.blastRadius)],
    ['Retries', wholeNumber(counts.retries)],
  ]
  const items = facts.map(
    ([name, value]) => `<div><dt>${htmlText(name)}</dt><dd>${kept(value)}</dd></div>`,
  )
  return `<dl class="figures">${items.join('')}</dl>`
}

/** Keeps a number and its unit on one line. */
function kept(text: string): string {
  return htmlText(text).replaceAll(/(\d) (%|ms|s|min|h)\b|(\d) %/g, (all) =>
    all.replace(' ', '\u00a0'),
  )
}

const WIDTH = 1000
const HEIGHT = 10
/** The minimum width, so that one call in a million is visible. */
const MIN_WIDTH = 5

/** Draws outcomes as a bar whose length is a share of its row. */
export function htmlBar(endings: Endings, share = 1, label?: string): string {
  const parts = ENDINGS.map(({ name }) => ({ name, count: endings[name] }))
  const calls = parts.reduce((sum, { count }) => sum + count, 0)
  const length = Math.max(MIN_WIDTH, WIDTH * share)
  const rare = parts.filter(({ count }) => count > 0 && (count / calls) * length < MIN_WIDTH)
  const rareCalls = rare.reduce((sum, { count }) => sum + count, 0)
  // The frequent outcomes give up the width that the rare ones need to be visible.
  const perCall = (length - rare.length * MIN_WIDTH) / (calls - rareCalls)
  let x = 0
  const rects = parts.map(({ name, count }) => {
    if (count === 0) return ''
    const width = rare.some((part) => part.name === name) ? MIN_WIDTH : count * perCall
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
