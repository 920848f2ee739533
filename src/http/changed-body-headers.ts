import { linesWithout, type HeaderLines } from './headers.ts'

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

/** The lines for a body that was changed; without a length it is sent in chunks. */
export function forChangedBody(lines: HeaderLines, length?: number): string[] {
  const kept = linesWithout(lines, (name) => OF_BODY.has(name))
  if (length !== undefined) kept.push('Content-Length', String(length))
  return kept
}
