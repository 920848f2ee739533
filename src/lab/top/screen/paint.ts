import type { Line, Tone } from './line.ts'

const CODES: Readonly<Record<Tone, string>> = {
  plain: '',
  strong: '1',
  good: '32',
  bad: '1;31',
  warn: '33',
  quiet: '2',
}

/** A line with the codes of its colours. */
export function paintLine(line: Line, colours: boolean): string {
  return line
    .map(({ text, tone }) =>
      colours && tone !== 'plain' ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text,
    )
    .join('')
}
