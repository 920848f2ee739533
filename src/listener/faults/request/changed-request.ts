import type { HeaderLines } from '../../../http/headers.ts'

/** Headers that describe the original body, or ask for its handling. */
const BODY_HEADERS = new Set([
  'content-length',
  'content-encoding',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'transfer-encoding',
  'trailer',
  'expect',
])

/**
 * Returns the header lines for a changed body, with the length at its original position. With
 * `readsResponse` the client's accepted codings are removed, so that the response can be read.
 */
export function headersForChangedRequest(
  lines: HeaderLines,
  length: number,
  readsResponse: boolean,
): string[] {
  const kept: string[] = []
  let given = false
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase()
    if (name === 'content-length' && !given) {
      kept.push(lines[i]!, String(length))
      given = true
    } else if (!BODY_HEADERS.has(name) && !(readsResponse && name === 'accept-encoding')) {
      kept.push(lines[i]!, lines[i + 1]!)
    }
  }
  if (!given) kept.push('Content-Length', String(length))
  return kept
}
