import { htmlText } from './foreign-text.ts'
import { htmlBar } from './html-bar.ts'
import type { Cell, Column, ReportTable } from './report-table.ts'

/** A table with its title. Empty text where it has no rows. */
export function htmlTable(table: ReportTable, id: string, level: 2 | 3): string {
  if (table.rows.length === 0) return ''
  const about = table.about === undefined ? '' : `<p class="muted">${htmlText(table.about)}</p>`
  return `<section class="part" aria-labelledby="${id}">
<h${level} id="${id}">${htmlText(table.title)}</h${level}>
${about}
${bareTable(table, id)}
</section>`
}

/** A table alone, in a box that scrolls where it is too wide. */
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
