import { STATUS_CODES } from 'node:http'
import type { HeaderLines } from '../http/headers.ts'

/**
 * Declares Node's untyped `latin1Slice`, which is faster than `toString` for the many short header
 * fields.
 */
type Latin1 = Buffer & { latin1Slice(): string }

/** Decodes header bytes as latin1: one character is one byte, so the bytes are sent unchanged. */
export function headerLines(raw: readonly (Buffer | string)[]): HeaderLines {
  const lines: string[] = []
  for (let i = 0; i < raw.length; i++) {
    const part = raw[i]!
    lines.push(typeof part === 'string' ? part : (part as Latin1).latin1Slice())
  }
  return lines
}

/** Returns the standard reason phrase when the given one is only its last piece. */
export function usualReason(status: number, reason: string): string {
  const usual = STATUS_CODES[status]
  return usual !== undefined && usual.endsWith(reason) ? usual : reason
}
