import { foreign } from '#base'
import { chartsOf } from './chart-data.ts'
import { htmlPage } from './html-page.ts'
import { foldedTable, headHtml, runHtml, togetherHtml, verdictsHtml } from './html-parts.ts'
import type { ReportAbout, TitledRun } from './report-table.ts'

/** Renders one or several runs as a self-contained HTML file that includes the results as JSON. */
export function writeReport(runs: readonly TitledRun[], about: ReportAbout = {}): string {
  if (runs.length === 0) throw new RangeError('a report needs at least one run')
  const title = foreign(
    about.title ?? (runs.length === 1 ? 'Load report' : 'Load report, compared'),
  )
  return htmlPage(title, {
    header: headHtml(runs, title),
    main: `<noscript><p class="card">The charts require JavaScript. The tables and the JSON in this file contain all numbers.</p></noscript>
${mainHtml(runs, about)}`,
    squall: runs[0]!.result.squall,
    results: runs,
    charts: chartsOf(runs),
  })
}

function mainHtml(runs: readonly TitledRun[], about: ReportAbout): string {
  const parts = [togetherHtml(runs), ...runs.map((run, i) => runHtml(run, i, runs.length > 1))]
  if (about.front === undefined) return [verdictsHtml(runs, about), ...parts].join('\n')
  const { front, tables = [] } = about
  const shown = tables.filter(({ rows }) => rows.length > 0)
  return [
    front,
    '<section class="card run"><h2>Evidence</h2>',
    ...shown.map((table, i) => foldedTable(table, `first-${i}`)),
    `<details><summary>The load of each phase</summary>${verdictsHtml(runs)}${parts.join('\n')}</details></section>`,
  ].join('\n')
}
