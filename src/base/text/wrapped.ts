/**
 * Breaks a text into lines of a width at blanks, and longer words anywhere. Each line begins with
 * the indent, and those after the first with `deeper` behind it.
 */
export function wrapped(text: string, width: number, indent = '', deeper = ''): string[] {
  const lines: string[] = []
  let line = ''
  const start = (): string => `${indent}${lines.length > 0 ? deeper : ''}`
  const room = (): number => width - start().length
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
