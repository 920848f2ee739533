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
  const texts = alignedLines(lines, (column) => columns[column]!.number === true)
  return `${title}\n${texts.join('\n')}\n`
}

/** Aligns the columns of rows: numbers to the right, others to the left. */
export function alignedLines(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean,
): readonly string[] {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  const pad = (text: string, i: number): string =>
    isNumber(i) ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)
  return rows.map((row) => row.map(pad).join('  ').trimEnd())
}

function cellText({ text, about = '' }: Cell, most: number): string {
  return oneLine(about === '' ? text : `${text} (${about})`, most)
}
