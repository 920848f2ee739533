import { foreign, htmlText, moment } from '#base'
import { tableCards } from '../report/html-parts.ts'
import { htmlPage, MARK } from '../report/html-page.ts'
import { VERDICTS } from './judge.ts'
import type { SweepResult } from './sweep-result.ts'
import { badTable, sweepSentence, sweepTable, unstableTable } from './sweep-tables.ts'

/** Renders a sweep as a self-contained HTML file. */
export function sweepHtml(result: SweepResult): string {
  const title = `Sweep of ${result.settings.tape}`
  const meanings = Object.values(VERDICTS).map(
    ({ short, words, meaning }) => `<dt>${short}: ${words}</dt><dd>${meaning}</dd>`,
  )
  const tables = [sweepTable(result), badTable(result), unstableTable(result)]
  return htmlPage(title, {
    header: `<header class="top"><h1>${MARK} ${htmlText(foreign(title))}</h1>
<p class="muted">${htmlText(`${foreign(result.settings.command.join(' '), 200)} · ${moment(result.startedAt)}`)}</p></header>`,
    main: `<section class="card verdict" aria-label="Verdict"><p class="sentence">${htmlText(sweepSentence(result))}</p></section>
${tableCards(tables, 'sweep')}
<section class="card"><h2>Verdicts</h2><dl>${meanings.join('')}</dl></section>`,
    squall: result.squall,
    results: result,
  })
}
