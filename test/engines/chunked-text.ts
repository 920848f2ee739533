import { MAX_BODY } from './limits.ts'

const CODING = /\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n/i
const SIZE_LINE = /([0-9a-f]{1,8})\r\n/iy

/**
 * A request whose chunked body is longer than what is read of it before it is sent on, with its
 * chunks as one. Such a body is passed on as it is read, each read a chunk, and how TCP cuts it is
 * chance. What is not of that kind, and what follows where the chunks cannot be read, stays as it
 * is.
 */
export function joinChunks(request: string): string {
  const head = request.indexOf('\r\n\r\n') + 4
  if (request.length < MAX_BODY || head < 4 || !CODING.test(request.slice(0, head))) return request
  const pieces: string[] = []
  let at = head
  for (;;) {
    SIZE_LINE.lastIndex = at
    const size = Number.parseInt(SIZE_LINE.exec(request)?.[1] ?? '0', 16)
    if (size === 0) break
    const from = SIZE_LINE.lastIndex
    pieces.push(request.slice(from, from + size))
    at = Math.min(from + size + 2, request.length)
  }
  const body = pieces.join('')
  if (body.length < MAX_BODY) return request
  return `${request.slice(0, head)}${body.length} bytes in chunks\r\n${body}\r\n${request.slice(at)}`
}
