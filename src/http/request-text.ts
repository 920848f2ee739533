import { endToEnd } from './hop-by-hop.ts'
import type { RequestHead } from './headers.ts'

/** A head that must not be sent: its parts would not stay apart on the wire. */
export class UnsafeHeadError extends Error {
  readonly code = 'SQUALL_UNSAFE_HEAD'
}

/** Line breaks and NUL would let one header become two. The parser in front refuses them already. */
// oxlint-disable-next-line no-control-regex -- these are the very characters that must not pass
const UNSAFE = /[\r\n\0]/

/**
 * The head as it goes to the app, without the blank line at its end. Order, casing and repeats are
 * the client's own; only connection headers are written anew.
 */
export function requestHeadText(head: RequestHead, chunked: boolean): string {
  const lines = endToEnd(head.headers)
  let text = `${head.method} ${head.target} HTTP/${head.version}\r\n`
  let values = ''
  for (let i = 0; i + 1 < lines.length; i += 2) {
    values += lines[i]! + lines[i + 1]!
    text += `${lines[i]!}: ${lines[i + 1]!}\r\n`
  }
  if (UNSAFE.test(values) || UNSAFE.test(head.target)) {
    throw new UnsafeHeadError('a header holds a line break or NUL')
  }
  if (chunked) text += 'Transfer-Encoding: chunked\r\n'
  if (head.version === '1.0') text += 'Connection: keep-alive\r\n'
  return text
}
