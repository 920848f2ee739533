import { alignedLines, oneLine } from '#base'
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
  const texts = alignedLines(lines, (column) => columns[column]!.number === true)
  return `${title}\n${texts.join('\n')}\n`
}

function cellText({ text, about = '' }: Cell, most: number): string {
  return oneLine(about === '' ? text : `${text} (${about})`, most)
}
