import type { ServerResponse } from 'node:http'
import { asBuffer } from '../../base/bytes.ts'
import { endToEnd } from '../../http/hop-by-hop.ts'
import { headerValue, linesText, type ResponseHead } from '../../http/headers.ts'

/** Rejects a head that would be split differently on the wire. */
export class UnsafeResponseError extends Error {
  readonly code = 'SQUALL_UNSAFE_RESPONSE'
}

/** Declares the fields in which node:http keeps the head before sending it. */
interface Prepared {
  _header?: string | null
  _headerSent?: boolean
}

const UNSAFE = /[\r\n\0]/
const STATUS_LINE_END = '\r\n'

/**
 * Writes the upstream's own lines, followed by node:http's framing and connection lines. Given the
 * upstream's lines, node:http would reject some valid ones (a Trailer line without a trailer, a
 * latin1 Content-Disposition) and change the bytes of others.
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
  if (typeof own !== 'string') throw new UnsafeResponseError('node:http produced no header block')
  let from = own.indexOf(STATUS_LINE_END) + STATUS_LINE_END.length
  for (let i = 0; i + 1 < framing.length; i += 2) {
    from += framing[i]!.length + framing[i + 1]!.length + ': \r\n'.length
  }
  prepared._header = text + own.slice(from)
}

/** Checks the reason phrase, which, unlike the header lines, does not come from a strict parser. */
export function assertSafeReason({ reason }: ResponseHead): void {
  if (reason !== 'OK' && UNSAFE.test(reason)) {
    throw new UnsafeResponseError('the reason phrase contains a line break or NUL')
  }
}

/** Returns the lines that node:http needs to frame the body. */
function framingLines(head: ResponseHead): readonly string[] {
  const length = headerValue(head.headers, 'content-length')
  return length === undefined ? NONE : ['Content-Length', length]
}

const NONE: readonly string[] = []
const KEEP_ALIVE: readonly string[] = ['Connection', 'keep-alive']

/**
 * Returns true for responses without a body, after which node:http would needlessly end an HTTP/1.0
 * connection.
 */
function keepsBodyless(res: ServerResponse, status: number): boolean {
  const { req, shouldKeepAlive } = res
  if (req.httpVersionMinor > 0 || !shouldKeepAlive) return false
  return status === 204 || status === 304 || req.method === 'HEAD'
}

/**
 * Ends a response with its whole body. node:http would pass head, body and an empty string to the
 * kernel as three pieces, which makes an exchange a tenth more expensive.
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

/** Writes the head of an interim response. */
export function informationalText(head: ResponseHead): string {
  return `HTTP/1.1 ${head.status} ${head.reason}\r\n${linesText(head.headers)}\r\n`
}
