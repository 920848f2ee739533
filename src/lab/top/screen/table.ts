import { pad, type Line, type Span, span } from './line.ts'

/** A column; columns without a width share the remaining width in proportion to `grow`. */
export interface Column {
  readonly title: string
  readonly width?: number
  readonly grow?: number
  readonly align?: 'left' | 'right'
  /** Hides the column on screens narrower than this. */
  readonly from?: number
}

/** Formats a heading and rows; each row has a span for every column, including hidden ones. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Span[])[],
  width: number,
): { readonly head: Line; readonly rows: readonly Line[] } {
  const shown = columns.map(({ from = 0 }) => width >= from)
  const widths = columnWidths(
    columns.filter((_, i) => shown[i]),
    width,
  )
  const line = (parts: readonly Span[]): Line =>
    parts
      .filter((_, i) => shown[i])
      .flatMap(({ text, tone }, i) => [
        span(i === 0 ? ' ' : '  '),
        { text: pad(text, widths[i] ?? 0, columns.filter((__, j) => shown[j])[i]?.align), tone },
      ])
  return { head: line(columns.map(({ title }) => span(title, 'quiet'))), rows: rows.map(line) }
}

function columnWidths(columns: readonly Column[], width: number): readonly number[] {
  const fixed = columns.reduce((sum, column) => sum + (column.width ?? 0), 0)
  const shares = columns.reduce((sum, column) => sum + (column.grow ?? 0), 0)
  // The last cell of a line stays free, because some terminals wrap there.
  let left = Math.max(0, width - 2 - 2 * (columns.length - 1) - fixed)
  let sharesLeft = shares
  return columns.map(({ width: own, grow = 0 }) => {
    if (own !== undefined) return own
    const part = Math.round((left * grow) / Math.max(1, sharesLeft))
    left -= part
    sharesLeft -= grow
    return part
  })
}
