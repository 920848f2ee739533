import { htmlText } from './foreign-text.ts'
import { htmlBar } from './html-head.ts'
import {
  type Cell,
  type Column,
  type ReportTable,
  indicatorTable,
  speedTable,
} from './report-table.ts'
import { foreign } from '../../base/text/foreign-text.ts'
import type { TitledRun } from './report.ts'
import {
  arrivalTable,
  errorTable,
  faultTable,
  gateTable,
  runTable,
  toolTable,
  timeTable,
} from './run-tables.ts'

/** Renders a table with its title; an empty table is an empty text. */
export function htmlTable(table: ReportTable, id: string, level: 2 | 3): string {
  if (table.rows.length === 0) return ''
  const about = table.about === undefined ? '' : `<p class="muted">${htmlText(table.about)}</p>`
  return `<section class="part" aria-labelledby="${id}">
<h${level} id="${id}">${htmlText(table.title)}</h${level}>
${about}
${bareTable(table, id)}
</section>`
}

/** Renders a table in a box that scrolls if the table is too wide. */
export function bareTable({ columns, rows }: ReportTable, labelledBy: string): string {
  const head = columns.map(
    (column) => `<th scope="col"${kind(column)}>${htmlText(column.name)}</th>`,
  )
  const body = rows.map(
    (row) => `<tr>${row.map((each, i) => td(each, columns[i]!, i)).join('')}</tr>`,
  )
  return `<div class="scroll" tabindex="0" role="region" aria-labelledby="${labelledBy}"><table${columns.length > 2 ? ' class="many"' : ''}>
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
<p class="muted words">An error is <b class="injected">injected</b> when its response carries the mark of a fault, <b class="real">real</b> when a response came without one, and unattributed when nothing came that could carry a mark: a broken connection, or silence. “Responded” is a response without error; “correct” has the right form as well and can be used; “success” is correct and in time.</p>
</section>
<div class="pair">
<section class="card">${htmlTable(speedTable(runs), 'speed', 2)}</section>
<section class="card" aria-labelledby="curve-title">
<h2 id="curve-title">How long calls took${about}</h2>
<p class="muted">Up to what time the fastest calls had ended: half of them, 9 in 10, 99 in 100, and so on.</p>
${chartHtml('curve', `Latency by share of the calls${about}; the numbers are in the table of size and speed`, 'tall')}
</section>
</div>`
}

/** Renders the parts about one run. */
export function runHtml({ title, result }: TitledRun, i: number, several: boolean): string {
  const level = several ? 3 : 2
  const heading = several ? `<h2 id="run-${i}">${htmlText(foreign(title))}</h2>` : ''
  const step = result.timeline.intervalMs / 1000
  const each = step === 1 ? 'each second' : `each ${step} s`
  const charts: [string, string][] = [
    [`calls-${i}`, `Calls in ${each}`],
    [`errors-${i}`, `Errors in ${each}`],
    [`latency-${i}`, 'Latency over time'],
  ]
  const figures = charts.map(
    ([id, caption]) =>
      `<figure><figcaption>${caption}</figcaption>${chartHtml(id, `${caption}; the numbers are in the table below`)}</figure>`,
  )
  const tables = [
    htmlTable(toolTable(result), `tools-${i}`, level),
    htmlTable(faultTable(result), `faults-${i}`, level),
    `<div class="pair"><div>${htmlTable(errorTable(result), `error-kinds-${i}`, level)}
${htmlTable(gateTable(result), `gates-${i}`, level)}</div>
${htmlTable(arrivalTable(result), `arrivals-${i}`, level)}</div>`,
  ]
  return `<section class="card run" ${several ? `aria-labelledby="run-${i}"` : 'aria-label="The run"'}>
${heading}
<div class="charts">${figures.join('')}</div>
${timeHtml(result, i)}
${tables.join('\n')}
<details><summary id="options-${i}">What was run</summary>${bareTable(runTable(result), `options-${i}`)}</details>
</section>`
}

function timeHtml(result: TitledRun['result'], i: number): string {
  const table = timeTable(result)
  if (table === undefined) return ''
  return `<details><summary id="time-${i}">The same as a table</summary>${bareTable(table, `time-${i}`)}</details>`
}

function chartHtml(id: string, label: string, more = ''): string {
  return `<div id="${id}" class="chart ${more}" role="img" aria-label="${htmlText(label)}"></div><ul id="${id}-legend" class="legend" aria-hidden="true"></ul>`
}
