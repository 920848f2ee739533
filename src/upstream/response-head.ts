import { STATUS_CODES } from 'node:http'
import type { HeaderLines } from '../http/headers.ts'

/** What `toString('latin1')` comes down to; a head has a dozen of these. */
type Latin1 = Buffer & { latin1Slice(): string }

/** Header bytes as latin1 strings: one character is one byte, so they go out as they came in. */
export function headerLines(raw: readonly (Buffer | string)[]): HeaderLines {
  const lines: string[] = []
  for (let i = 0; i < raw.length; i++) {
    const part = raw[i]!
    lines.push(typeof part === 'string' ? part : (part as Latin1).latin1Slice())
  }
  return lines
}

/** The usual phrase where the given one is no more than its last piece. */
export function usualReason(status: number, reason: string): string {
  const usual = STATUS_CODES[status]
  return usual !== undefined && usual.endsWith(reason) ? usual : reason
}
