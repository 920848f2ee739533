import type { HeaderLines } from '../headers.ts'

/**
 * One header line in its plainest form: one space behind the colon, visible ASCII and single or
 * several spaces inside, none at the end. Servers and clients read it alike, whichever they are.
 */
const LINE = /([!#$%&'*+\-.^_`|~\w]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y

const CR = 13

/** Reads header lines up to the blank one that ends the text; undefined where one is not plain. */
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

/** The value of a decimal number without sign, spaces and leading zeros; -1 for anything else. */
export function plainNumber(text: string): number {
  return /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : -1
}
