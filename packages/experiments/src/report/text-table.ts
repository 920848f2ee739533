import { alignedLines, oneLine, paint } from '#base'
import { type Cell, cell, type ReportTable } from './report-table.ts'

/** Limits the width of all columns but the last. */
const WIDEST = 44
const WIDEST_LAST = 400

interface Look {
  /** The names of the columns to show; all unless given. */
  readonly names?: readonly string[]
  /** The name of a column that is shown below its row. */
  readonly below?: string
  /** The most rows to show. */
  readonly most?: number
  /** The output whose colours are used. */
  readonly output?: NodeJS.WriteStream | false
}

/** Renders a table for a terminal; an empty table is an empty text. */
export function textTable(
  { title, columns, rows }: ReportTable,
  { names, below, most = Infinity, output = false }: Look = {},
): string {
  if (rows.length === 0) return ''
  const beneath = columns.findIndex(({ name }) => name === below)
  const shown = columns.flatMap(({ name }, i) =>
    i !== beneath && (names?.includes(name) ?? true) ? [i] : [],
  )
  const last = shown.at(-1)
  const widest = (i: number): number => (i === last ? WIDEST_LAST : WIDEST)
  const first = rows.slice(0, most)
  const lines = [
    shown.map((i) => columns[i]!.name),
    ...first.map((row) => shown.map((i) => cellText(row[i]!, widest(i)))),
  ]
  const [head, ...texts] = alignedLines(lines, (at) => columns[shown[at]!]!.number === true)
  const body = first.flatMap((row, i) => {
    const tone = row.find((each) => each.tone === 'good' || each.tone === 'bad')?.tone
    const under = oneLine(row[beneath]?.text ?? '', WIDEST_LAST)
    const line = paint(tone === 'good' || tone === 'bad' ? tone : 'plain', texts[i]!, output)
    return under === '' ? [line] : [line, `  ${under}`]
  })
  const more = rows.length > most ? [`… and ${rows.length - most} more`] : []
  return `${[paint('strong', title, output), head, ...body, ...more].join('\n')}\n`
}

/** Leaves out what explains the first cells, for which a terminal is too narrow. */
export function withoutAbout({ rows, ...table }: ReportTable): ReportTable {
  return { ...table, rows: rows.map(([first, ...rest]) => [cell(first!.text), ...rest]) }
}

function cellText({ text, about = '' }: Cell, most: number): string {
  return oneLine(about === '' ? text : `${text} (${about})`, most)
}
