import type { HeaderLines } from '../headers.ts'

/**
 * Matches a header line that every server and client reads alike: one space behind the colon,
 * visible ASCII with spaces inside, and no space at the end.
 */
const LINE = /([!#$%&'*+\-.^_`|~\w]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y

const CR = 13

/** Reads header lines up to the blank line that ends the text; undefined when one is not plain. */
export function plainLines(text: string, from: number): HeaderLines | undefined {
  const lines: string[] = []
  const end = text.length - 2
  LINE.lastIndex = from
  for (let at = from; at < end; at = LINE.lastIndex) {
    const match = LINE.exec(text)
    if (match === null) return undefined
    lines.push(match[1]!, match[2]!)
  }
  return text.charCodeAt(end) === CR ? lines : undefined
}

/** Parses a decimal number without sign, spaces and leading zeros; returns -1 for anything else. */
export function plainNumber(text: string): number {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : -1
}
