import { plain } from '../../base/text/foreign-text.ts'

const WIDTH = 80
const DEEPER = '  '

/** A text in lines that fit a terminal, without anything a terminal obeys. Long words are broken. */
export function wrapped(text: string, indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  const room = (): number => WIDTH - indent.length - (lines.length > 0 ? DEEPER.length : 0)
  const flush = (): void => {
    lines.push(`${indent}${lines.length > 0 ? DEEPER : ''}${line}`)
    line = ''
  }
  for (const word of plain(text).split(' ')) {
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
