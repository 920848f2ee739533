import type { HeaderLines } from '../../mcp/http.ts'

/** Lines that speak of the body as it was framed and coded, and are wrong for another one. */
const OF_BODY = new Set([
  'content-length',
  'content-encoding',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'etag',
  'accept-ranges',
  'transfer-encoding',
  'trailer',
])

/** The lines less those that the test names, in lower case. */
export function linesWithout(lines: HeaderLines, drop: (name: string) => boolean): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < lines.length; i += 2) {
    if (!drop(lines[i]!.toLowerCase())) kept.push(lines[i]!, lines[i + 1]!)
  }
  return kept
}

/** The lines for a body that was changed; without a length it is sent in chunks. */
export function forChangedBody(lines: HeaderLines, length?: number): string[] {
  const kept = linesWithout(lines, (name) => OF_BODY.has(name))
  if (length !== undefined) kept.push('Content-Length', String(length))
  return kept
}
