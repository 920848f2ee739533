import { cells, fit } from '../cells.ts'

/** The meaning of a part of a line. It selects the colour, and no information is in the colour alone. */
export type Tone = 'plain' | 'strong' | 'good' | 'bad' | 'warn' | 'quiet'

/** A part of a line. */
export interface Span {
  readonly text: string
  readonly tone: Tone
}

/** One line of a screen. */
export type Line = readonly Span[]

/** A part with its meaning. */
export function span(text: string, tone: Tone = 'plain'): Span {
  return { text, tone }
}

/** A line of one part, one cell from the edge. */
export function textLine(text: string, tone: Tone = 'plain'): Line {
  return [span(` ${text}`, tone)]
}

/** The line, cut where it takes more cells than this. */
export function fitLine(line: Line, most: number): Line {
  let left = most
  const kept: Span[] = []
  for (const { text, tone } of line) {
    const shown = fit(text, left)
    if (shown !== '') kept.push({ text: shown, tone })
    if (shown !== text) break
    left -= cells(shown)
  }
  return kept
}

/** Lines as text, without colours. */
export function plainText(lines: readonly Line[]): string {
  return lines
    .map(
      (line) =>
        `${line
          .map(({ text }) => text)
          .join('')
          .trimEnd()}\n`,
    )
    .join('')
}
