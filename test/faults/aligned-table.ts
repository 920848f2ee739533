/** Writes a table of Markdown with aligned columns, as prettier does. The first row is its head. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const padded = (row: readonly string[]): string =>
    line(row.map((text, column) => text + ' '.repeat(widths[column]! - text.length)))
  const [head, ...body] = rows.map(padded)
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')
}
