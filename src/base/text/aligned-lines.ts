/** Aligns the columns of rows: numbers to the right, others to the left. */
export function alignedLines(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean = () => false,
): readonly string[] {
  const widths = rows[0]!.map((_, i) => rows.reduce((w, row) => Math.max(w, row[i]!.length), 0))
  const pad = (text: string, i: number): string =>
    isNumber(i) ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)
  return rows.map((row) => row.map(pad).join('  ').trimEnd())
}
