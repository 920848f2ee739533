import { findAmbiguity } from '../../../src/http/ambiguity.ts'
import { requestHead } from '../../../src/listener/front/node-exchange.ts'
import { RequestReader } from '../../../src/http/fast/request-reader.ts'
import { requestHeadText } from '../../../src/http/request-text.ts'
import { Disagreement, same } from '../disagreement.ts'
import { nodeReader, type NodeReading, type NodeRequest } from '../references/node-requests.ts'
import type { Target, Tried } from './target.ts'

/** The limit of header blocks in both readers. */
export const MAX_HEADER_SIZE = 16 * 1024
const nodeReads = nodeReader(MAX_HEADER_SIZE)

/**
 * Reads the bytes of one connection as the front end does, for as long as they are plain, and
 * compares each request with the result of node:http for the same bytes.
 */
export function checkRequests(bytes: Buffer): Tried {
  const requests = new RequestReader(MAX_HEADER_SIZE)
  let reading: NodeReading | undefined
  let count = 0
  let kinds = ''
  let at = 0
  while (at < bytes.length && requests.read(bytes, at)) {
    const start = at + requests.size
    const end = Math.min(start + requests.length, bytes.length)
    reading ??= nodeReads(bytes)
    const theirs = reading.requests[count++]
    if (theirs === undefined) {
      throw new Disagreement('node refuses it', reading.refusal ?? 'or waits for more')
    }
    compare(requests, theirs, bytes.toString('latin1', start, end))
    kinds += `${requests.head.method[0]}${Math.min(requests.head.headers.length >> 2, 4)}`
    at = end
    if (end - start < requests.length) return { kind: `${kinds} cut`, compared: true }
  }
  return { kind: kinds, compared: count > 0 }
}

function compare(ours: RequestReader, theirs: NodeRequest, body: string): void {
  const { head, length } = ours
  same('the event', 'request', theirs.event)
  const { method, target, version, headers } = head
  const their = requestHead(theirs.request)
  same('the method', method, their.method)
  same('the target', target, their.target)
  same('the version', version, theirs.request.httpVersion)
  same('the lines', headers, their.headers)
  same('the body', body, theirs.body)
  same('its end', body.length === length, theirs.whole)
  same('keep-alive', true, theirs.keepAlive)
  same('an ambiguity', findAmbiguity(their), undefined)
  same('the text', head.text, `${requestHeadText(their, false)}\r\n`)
}

const POST =
  'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello'
const GET = 'GET /mcp?a=b HTTP/1.1\r\nHost: pod:80\r\nAccept: text/event-stream\r\n\r\n'

/** The reader of plain requests beside node:http. */
export const requestsTarget: Target = {
  name: 'requests',
  maxLength: 2_000,
  seeds: [
    POST,
    GET,
    POST + POST,
    POST + POST.replace('5', '12').replace('hello', 'hello, hello') + POST,
    POST + GET + POST.replace('5', '12').replace('hello', 'hello, hello'),
    'DELETE /mcp HTTP/1.1\r\nHost: pod\r\nConnection: keep-alive\r\nMcp-Session-Id: a b\r\n\r\n',
  ],
  tokens: [
    ['\r\n', '\n', '\r', '\r\n\r\n', '\0', '\t', ' ', '\u007f', '\u0080', ':', ': ', ' :', ','],
    ['GET ', 'POST ', 'DELETE ', 'PUT ', 'HEAD ', 'PRI * ', ' HTTP/1.1\r\n', ' HTTP/1.0\r\n'],
    ['/', '//', '*', '%00', '#', '?', '\\', '"', 'http://pod/', '0', '1', '00', '5, 5', '+5'],
    ['Host: other\r\n', 'Host:\r\n', 'host: pod\r\n', 'Content-Length: 5\r\n', 'Expect: x\r\n'],
    ['Content-Length: 999999999\r\n', 'Content-Length: 18446744073709551616\r\n', 'X-\u00e9: b'],
    ['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: identity\r\n', 'Upgrade: h2c\r\n'],
    ['Connection: close\r\n', 'Connection: Upgrade\r\n', 'Connection: keep-alive, x\r\n'],
    ['Connection: Keep-Alive\r\n', 'Proxy-Connection: close\r\n', 'HTTP2-Settings: a\r\n'],
    ['Expect: 100-continue\r\n', 'TE: trailers\r\n', 'Trailer: x\r\n', 'Keep-Alive: 5\r\n'],
    [' folded\r\n', 'a: b\r\n', '0\r\n\r\n', '5\r\nhello\r\n'],
  ].flat(),
  run: checkRequests,
}
