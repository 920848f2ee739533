import { cells, type Line, pad, span, type Span } from '#cli'

/** A column; columns without a width share the remaining width in proportion to `grow`. */
export interface Column {
  readonly title: string
  readonly width?: number
  readonly grow?: number
  readonly align?: 'left' | 'right'
  /** Hides the column on screens narrower than this. */
  readonly from?: number
}

/** A heading and the rows below. */
export interface Table {
  readonly head: Line
  readonly rows: readonly Line[]
}

/** Formats a heading and rows; each row has a span for every column, including hidden ones. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  width: number,
): Table {
  const isShown = columns.map(({ from = 0 }) => width >= from)
  const keep = <T>(all: readonly T[]): readonly T[] => all.filter((_, i) => isShown[i])
  const shown = keep(columns)
  const shownRows = rows.map(keep)
  const widths = columnWidths(shown, shownRows, width)
  const line = (spans: readonly Span[]): Line =>
    spans.flatMap(({ text, tone }, i) => [
      span(i === 0 ? ' ' : '  '),
      { text: pad(text, widths[i]!, shown[i]!.align), tone },
    ])
  return { head: line(shown.map(({ title }) => span(title, 'quiet'))), rows: shownRows.map(line) }
}

/** Gives no column more than its texts need, so that the columns of a wide screen stay together. */
function columnWidths(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  width: number,
): readonly number[] {
  const needs = columns.map(({ title }, i) =>
    rows.reduce((most, row) => Math.max(most, cells(row[i]!.text)), cells(title)),
  )
  const widths = columns.map((column) => column.width ?? 0)
  const fixed = widths.reduce((sum, each) => sum + each, 0)
  // The last cell of a line stays free, because some terminals wrap there.
  let left = Math.max(0, width - 2 - 2 * (columns.length - 1) - fixed)
  let growing = [...columns.keys()].filter((i) => columns[i]!.width === undefined)
  while (growing.length > 0) {
    const shares = growing.reduce((sum, i) => sum + columns[i]!.grow!, 0)
    const parts = new Map(growing.map((i) => [i, Math.floor((left * columns[i]!.grow!) / shares)]))
    // Columns that need less than their share leave the rest to the others.
    const modest = growing.filter((i) => needs[i]! <= parts.get(i)!)
    const settled = modest.length > 0 ? modest : growing
    for (const i of settled) {
      widths[i] = Math.min(needs[i]!, parts.get(i)!)
      left -= widths[i]
    }
    growing = growing.filter((i) => !settled.includes(i))
  }
  return widths
}
