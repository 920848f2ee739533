import { endToEnd } from './hop-by-hop.ts'
import { linesText, type RequestHead } from './headers.ts'

/** Rejects a head that would be split differently on the wire. */
export class UnsafeHeadError extends Error {
  readonly code = 'SQUALL_UNSAFE_HEAD'
}

/** Line breaks and NUL would turn one header into two. The front's parser rejects them already. */
const UNSAFE = /[\r\n\0]/

/**
 * Writes the head for the upstream, without the blank line at its end. Order, casing and repeats
 * are the client's; only connection headers are replaced.
 */
export function requestHeadText(head: RequestHead, chunked: boolean): string {
  const lines = endToEnd(head.headers)
  if (UNSAFE.test(lines.join('')) || UNSAFE.test(head.target)) {
    throw new UnsafeHeadError('a header contains a line break or NUL')
  }
  let text = `${head.method} ${head.target} HTTP/${head.version}\r\n${linesText(lines)}`
  if (chunked) text += 'Transfer-Encoding: chunked\r\n'
  if (head.version === '1.0') text += 'Connection: keep-alive\r\n'
  return text
}
