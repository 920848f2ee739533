import type { ServerResponse } from 'node:http'
import { asBuffer } from '../../base/bytes.ts'
import { endToEnd } from '../../http/hop-by-hop.ts'
import { headerValue, linesText, type ResponseHead } from '../../http/headers.ts'

/** A head that must not be sent: its parts would not stay apart on the wire. */
export class UnsafeResponseError extends Error {
  readonly code = 'SQUALL_UNSAFE_ANSWER'
}

/** Where node:http keeps the head that it is about to send. */
interface Prepared {
  _header?: string | null
  _headerSent?: boolean
}

// oxlint-disable-next-line no-control-regex -- these are the very characters that must not pass
const UNSAFE = /[\r\n\0]/
const STATUS_LINE_END = '\r\n'

/**
 * Lets node:http decide the framing and the connection lines, and writes the app's own lines in
 * front of them. Given all lines, node:http would refuse some that are legal (a Trailer line where no
 * trailer follows, a latin1 Content-Disposition) and change the bytes of others.
 */
export function prepareHead(res: ServerResponse, head: ResponseHead): void {
  const lines = endToEnd(head.headers)
  const text = `HTTP/1.1 ${head.status} ${head.reason}\r\n${linesText(lines)}`
  assertSafeReason(head)
  const framing = framingLines(head)
  const keeps = keepsBodyless(res, head.status)
  res.writeHead(head.status, '', (keeps ? [...framing, ...KEEP_ALIVE] : framing) as string[])
  const prepared = res as Prepared
  const own = prepared._header
  if (typeof own !== 'string') throw new UnsafeResponseError('node:http prepared no head')
  let from = own.indexOf(STATUS_LINE_END) + STATUS_LINE_END.length
  for (let i = 0; i + 1 < framing.length; i += 2) {
    from += framing[i]!.length + framing[i + 1]!.length + ': \r\n'.length
  }
  prepared._header = text + own.slice(from)
}

/** Header lines come from a strict parser, the reason phrase from reading over its shoulder. */
export function assertSafeReason({ reason }: ResponseHead): void {
  if (reason !== 'OK' && UNSAFE.test(reason)) {
    throw new UnsafeResponseError('the reason phrase holds a line break or NUL')
  }
}

/** What node:http needs to know to frame the body; these lines are ours already. */
function framingLines(head: ResponseHead): readonly string[] {
  const length = headerValue(head.headers, 'content-length')
  return length === undefined ? NONE : ['Content-Length', length]
}

const NONE: readonly string[] = []
const KEEP_ALIVE: readonly string[] = ['Connection', 'keep-alive']

/** node:http ends an HTTP/1.0 connection after a response without a length, also where none is needed. */
function keepsBodyless(res: ServerResponse, status: number): boolean {
  const { req, shouldKeepAlive } = res
  if (req.httpVersionMinor > 0 || !shouldKeepAlive) return false
  return status === 204 || status === 304 || req.method === 'HEAD'
}

/**
 * Ends a response whose only bytes are these. node:http would hand head, body and an empty string to
 * the kernel as three pieces, which costs a tenth of the whole exchange more than one string.
 */
export function endWhole(res: ServerResponse, bytes: Uint8Array): void {
  const body = asBuffer(bytes).toString('latin1')
  const prepared = res as Prepared
  const { socket } = res
  if (
    socket === null ||
    res.chunkedEncoding ||
    typeof prepared._header !== 'string' ||
    prepared._headerSent !== false
  ) {
    res.end(body, 'latin1')
    return
  }
  prepared._headerSent = true
  socket.write(prepared._header + body, 'latin1')
  res.end()
}

/** A 1xx head as text. */
export function informationalText(head: ResponseHead): string {
  return `HTTP/1.1 ${head.status} ${head.reason}\r\n${linesText(head.headers)}\r\n`
}
