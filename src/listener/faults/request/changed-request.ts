import type { HeaderLines } from '../../../http/headers.ts'

/** Lines that speak of a request's body as it was, and of what was asked of whoever read it. */
const OF_BODY = new Set([
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
 * The lines of a request whose body was changed, its length where it stood. With `readsAnswer` the
 * response is to come in a coding that can be read here.
 */
export function forChangedRequest(
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
    } else if (!OF_BODY.has(name) && !(readsResponse && name === 'accept-encoding')) {
      kept.push(lines[i]!, lines[i + 1]!)
    }
  }
  if (!given) kept.push('Content-Length', String(length))
  return kept
}
