import { linesWithout, type HeaderLines } from './headers.ts'

/** Headers that describe the original body and would be wrong for a changed one. */
const BODY_HEADERS = new Set([
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

/** Returns the header lines for a changed body; without `length` the body is sent in chunks. */
export function headersForChangedBody(lines: HeaderLines, length?: number): string[] {
  const kept = linesWithout(lines, (name) => BODY_HEADERS.has(name))
  if (length !== undefined) kept.push('Content-Length', String(length))
  return kept
}
