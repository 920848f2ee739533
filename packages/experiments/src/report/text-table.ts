import { oneLine } from '#base'
import type { Cell, ReportTable } from './report-table.ts'

/** Limits the width of all columns but the last. */
const WIDEST = 44

/** Renders a table for a terminal; an empty table is an empty text. */
export function textTable({ title, columns, rows }: ReportTable): string {
  if (rows.length === 0) return ''
  const last = columns.length - 1
  const lines = [
    columns.map(({ name }) => name),
    ...rows.map((row) => row.map((each, i) => cellText(each, i === last ? 400 : WIDEST))),
  ]
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  const texts = lines.map((line) =>
    line
      .map((text, i) => {
        if (columns[i]!.number === true) return text.padStart(widths[i]!)
        return i === last ? text : text.padEnd(widths[i]!)
      })
      .join('  ')
      .trimEnd(),
  )
  return `${title}\n${texts.join('\n')}\n`
}

function cellText({ text, about = '' }: Cell, most: number): string {
  return oneLine(about === '' ? text : `${text} (${about})`, most)
}
