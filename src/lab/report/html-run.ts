import { foreign } from '../../base/text/foreign-text.ts'
import { htmlText } from './foreign-text.ts'
import { bareTable, htmlTable } from './html-table.ts'
import { indicatorTable, speedTable } from './indicator-table.ts'
import type { TitledRun } from './report.ts'
import {
  arrivalTable,
  errorTable,
  faultTable,
  gateTable,
  runTable,
  toolTable,
} from './run-tables.ts'
import { timeTable } from './time-table.ts'

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
