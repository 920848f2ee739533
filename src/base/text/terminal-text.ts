import { styleText } from 'node:util'

const STYLES = {
  plain: [],
  strong: ['bold'],
  good: ['green'],
  // Real errors are red everywhere, and injected errors purple.
  bad: ['bold', 'red'],
  warn: ['yellow'],
  quiet: ['dim'],
  injected: ['magenta'],
} as const

/** The meaning of a text. The tone selects the colour; colour alone carries no information. */
export type Tone = keyof typeof STYLES

/** Colours a text: where the output shows colours, or always (`true`), or never (`false`). */
export function paint(tone: Tone, text: string, output: NodeJS.WriteStream | boolean): string {
  if (output === false || tone === 'plain') return text
  const where = output === true ? { validateStream: false } : { stream: output }
  // One style after another: for a list, Node 20 ignores what the output shows.
  const styles: readonly Parameters<typeof styleText>[0][] = STYLES[tone]
  return styles.reduceRight((shown, style) => styleText(style, shown, where), text)
}

/** An output that may be a terminal. */
export interface LineOutput {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

/** Returns the width of an output, which is 0 in a terminal that does not know its own. */
export function widthOf({ columns = 0 }: Pick<LineOutput, 'columns'>, unknown = 80): number {
  return columns > 0 ? columns : unknown
}

/** Clears the current line of a terminal. */
export const CLEAR_LINE = '\r\u001b[K'

/** Returns true when a line can be drawn over on this output. */
export function redraws(
  output: LineOutput,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return output.isTTY === true && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === ''
}

/** Replaces the current line of a terminal, in at most `most` columns. */
export function redraw(output: LineOutput, line: string, most = Infinity): void {
  // Leaves the last column free, because a line that wraps could not be cleared.
  const width = Math.min(most, widthOf(output)) - 1
  output.write(`\r${line.slice(0, Math.max(20, width))}\u001b[K`)
}
