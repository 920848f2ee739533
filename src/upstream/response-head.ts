import type { HeaderLines } from '../mcp/http.ts'

/** Header bytes as latin1 strings: one character is one byte, so they go out as they came in. */
export function headerLines(raw: readonly (Buffer | string)[]): HeaderLines {
  const lines: string[] = []
  for (let i = 0; i < raw.length; i++) {
    const part = raw[i]!
    lines.push(typeof part === 'string' ? part : part.toString('latin1'))
  }
  return lines
}
