/**
 * Breaks a text into lines of a width at blanks, and longer words anywhere. Each line begins with
 * the indent, and those after the first with `deeper` behind it.
 */
export function wrapped(text: string, width: number, indent = '', deeper = ''): string[] {
  const lines: string[] = []
  let line = ''
  const start = (): string => `${indent}${lines.length > 0 ? deeper : ''}`
  // Takes at least one character, so that each text ends.
  const room = (): number => Math.max(1, width - start().length)
  const flush = (): void => {
    lines.push(`${start()}${line}`)
    line = ''
  }
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > room()) flush()
    line = line === '' ? word : `${line} ${word}`
    while (line.length > room()) {
      const rest = line.slice(room())
      line = line.slice(0, room())
      flush()
      line = rest
    }
  }
  flush()
  return lines
}

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
