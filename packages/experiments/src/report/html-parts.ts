import { MARK } from './html-page.ts'
import { duration, foreign, htmlText, integerText, latency, moment, percentage } from '#base'
import { agentTable, findingsTable, verdictTable } from './agent-tables.ts'
import { ENDINGS, type Endings, endingsOf } from './endings.ts'
import {
  type Cell,
  type Column,
  type ReportAbout,
  type ReportTable,
  type TitledRun,
  indicatorTable,
  rateText,
  speedTable,
} from './report-table.ts'
import { gateVerdict, taskVerdict, verdictOf } from './verdict.ts'
import {
  arrivalTable,
  errorTable,
  faultTable,
  gateTable,
  runTable,
  timeTable,
  toolErrorTable,
  toolTable,
} from './run-tables.ts'

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
export function verdictsHtml(
  runs: readonly TitledRun[],
  { notes = [], tables = [] }: ReportAbout = {},
): string {
  const parts = runs.map((run) => verdictHtml(run, runs.length > 1))
  const paragraphs = notes.map((note) => `<p>${htmlText(foreign(note, 500))}</p>`)
  const noteCard =
    paragraphs.length === 0
      ? ''
      : `<section class="card notes" aria-label="Notes">${paragraphs.join('')}</section>`
  const first = tableCards(tables, 'first')
  const shape = runs.length === 1 ? 'sole' : runs.length % 3 === 0 ? 'several thirds' : 'several'
  const cards = `<div class="${shape}">${parts.join('\n')}</div>`
  // No single run summarizes several.
  return runs.length === 1 ? cards + noteCard + first : noteCard + first + cards
}

function verdictHtml({ title, about, result }: TitledRun, several: boolean): string {
  const endings = endingsOf(result)
  const { calls } = result.counts
  const name = several ? `<h2>${htmlText(foreign(title))}</h2>` : ''
  const gates = gateVerdict(result) ?? ''
  const tone = result.slo.some(({ ok }) => !ok) ? 'bad' : 'good'
  const tasks = taskVerdict(result) ?? ''
  const early = result.run.complete
    ? ''
    : '<p class="bad">Ended early: the results are incomplete.</p>'
  return `<section class="card verdict"${several ? '' : ' aria-label="Verdict"'}>
${name}
${about === undefined ? '' : `<p class="muted">${htmlText(foreign(about, 300))}</p>`}
${gates === '' ? '' : `<p class="more"><b class="${tone}">${unbroken(gates)}</b></p>`}
<p class="sentence">${unbroken(verdictOf(result))}</p>
${tasks === '' ? '' : `<p class="more">${unbroken(tasks)}</p>`}
${early}
${calls === 0 ? '' : htmlBar(endings, 1, verdictOf(result)) + htmlLegend(endings, calls)}
${figures(result)}
</section>`
}

function figures(result: TitledRun['result']): string {
  const { counts, indicators, latency: all } = result
  const facts: [string, string][] = [
    ['Calls per second', rateText(result)],
    ['p50', latency(all.summary.p50)],
    ['p99', latency(all.summary.p99)],
    ['Success', percentage(indicators.tcsr)],
    ['Failed tasks', percentage(indicators.blastRadius)],
    ['Retries', integerText(counts.retries)],
  ]
  const items = facts.map(
    ([name, value]) => `<div><dt>${htmlText(name)}</dt><dd>${unbroken(value)}</dd></div>`,
  )
  return `<dl class="figures">${items.join('')}</dl>`
}

/** Renders a text; keeps a number and its unit on one line. */
export function unbroken(text: string): string {
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
      `<li><span class="swatch ${name}"></span> ${htmlText(label)} <b>${integerText(endings[name])}</b> <span class="muted">${htmlText(percentage(endings[name] / calls))}</span></li>`,
  )
  return `<ul class="legend">${items.join('')}</ul>`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** Renders a table with its title; an empty table is an empty text. */
function htmlTable(table: ReportTable, id: string, level: 2 | 3): string {
  if (table.rows.length === 0) return ''
  const about = table.about === undefined ? '' : `<p class="muted">${htmlText(table.about)}</p>`
  return `<section class="part">
<h${level} id="${id}">${htmlText(table.title)}</h${level}>
${about}
${bareTable(table, id)}
</section>`
}

/** Renders each table that is not empty in a card of its own. */
export function tableCards(tables: readonly ReportTable[], id: string): string {
  return tables
    .map((table, i) => htmlTable(table, `${id}-${i}`, 2))
    .filter((html) => html !== '')
    .map((html) => `<section class="card">${html}</section>`)
    .join('\n')
}

/** Renders a table in a box that scrolls if the table is too wide. */
export function bareTable({ columns, rows }: ReportTable, labelledBy: string): string {
  const head = columns.map(
    (column) => `<th scope="col"${kind(column)}>${htmlText(column.name)}</th>`,
  )
  const body = rows.map(
    (row) => `<tr>${row.map((each, i) => td(each, columns[i]!, i)).join('')}</tr>`,
  )
  return `<div class="scroll" tabindex="0" role="group" aria-labelledby="${labelledBy}"><table${columns.length > 2 ? ' class="many"' : ''}>
<thead><tr>${head.join('')}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div>`
}

function td({ text, about, tone, bar }: Cell, column: Column, index: number): string {
  if (bar !== undefined) return `<td class="wide">${htmlBar(bar.endings, bar.share)}</td>`
  const small = about === undefined || about === '' ? '' : `<small>${htmlText(about)}</small>`
  const shown = tone === undefined ? htmlText(text) : `<b class="${tone}">${htmlText(text)}</b>`
  if (index === 0) return `<th scope="row">${shown}${small}</th>`
  return `<td${kind(column)}>${shown}${small}</td>`
}

function kind({ number }: Column): string {
  return number === true ? ' class="number"' : ''
}

/** Renders the parts about all runs together. */
export function togetherHtml(runs: readonly TitledRun[]): string {
  const about = runs.length === 1 ? '' : ', run by run'
  return `<section class="card" aria-label="Indicators">
${htmlTable(indicatorTable(runs), 'indicators', 2)}
<p class="muted words">An error is <b class="injected">injected</b> if the response carries the marker of a fault, <b class="real">real</b> if the response carries no marker, and unattributed if no response that could carry a marker arrived, for example after a broken connection or a timeout. “Responded” means a response without an error; “correct” also requires a usable result that conforms to the schema; “success” also requires a response in time.</p>
</section>
<div class="pair">
<section class="card">${htmlTable(speedTable(runs), 'speed', 2)}</section>
<section class="card" aria-labelledby="curve-title">
<h2 id="curve-title">Latency distribution${about}</h2>
<p class="muted">The time within which 50 %, 90 %, 99 % and other shares of the calls ended.</p>
${chartHtml('curve', `Latency by share of the calls${about}; the numbers are in the table of size and speed`, 'tall')}
</section>
</div>`
}

/** Renders the parts about one run. */
export function runHtml({ title, result }: TitledRun, i: number, several: boolean): string {
  const level = several ? 3 : 2
  const heading = several ? `<h2 id="run-${i}">${htmlText(foreign(title))}</h2>` : ''
  const timeline = timeTable(result)
  const step = result.timeline.intervalMs / 1000
  const each = step === 1 ? 'each second' : `each ${step} s`
  const charts: [string, string][] = [
    [`calls-${i}`, `Calls in ${each}`],
    [`errors-${i}`, `Errors in ${each}`],
    [`latency-${i}`, 'Latency over time'],
  ]
  const captioned = charts.map(
    ([id, caption]) =>
      `<figure><figcaption>${caption}</figcaption>${chartHtml(id, `${caption}; the numbers are in the table below`)}</figure>`,
  )
  const tables = [
    htmlTable(toolTable(result), `tools-${i}`, level),
    htmlTable(toolErrorTable(result), `errors-by-tool-${i}`, level),
    htmlTable(faultTable(result), `faults-${i}`, level),
    htmlTable(findingsTable(result), `findings-${i}`, level),
    htmlTable(verdictTable(result), `verdicts-${i}`, level),
    htmlTable(agentTable(result), `agents-${i}`, level),
    `<div class="pair"><div>${htmlTable(errorTable(result), `error-kinds-${i}`, level)}
${htmlTable(gateTable(result), `gates-${i}`, level)}</div>
${htmlTable(arrivalTable(result), `arrivals-${i}`, level)}</div>`,
  ]
  return `<section class="card run" ${several ? `aria-labelledby="run-${i}"` : 'aria-label="The run"'}>
${heading}
<div class="charts">${captioned.join('')}</div>
${timeline === undefined ? '' : foldedTable(timeline, `time-${i}`)}
${tables.join('\n')}
${foldedTable(runTable(result), `options-${i}`)}
</section>`
}

/** Renders a table that a reader opens. */
export function foldedTable(table: ReportTable, id: string): string {
  const about = table.about === undefined ? '' : `<p class="muted">${htmlText(table.about)}</p>`
  return `<details><summary id="${id}">${htmlText(table.title)}</summary>${about}${bareTable(table, id)}</details>`
}

function chartHtml(id: string, label: string, more = ''): string {
  return `<div id="${id}" class="chart ${more}" role="img" aria-label="${htmlText(label)}"></div><ul id="${id}-legend" class="legend" aria-hidden="true"></ul>`
}
