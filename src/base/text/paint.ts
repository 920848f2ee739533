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
