import type { Random } from '../support/random.ts'

const BASES = [
  'GET /mcp HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\nMcp-Session-Id: abc\r\n\r\n',
  'POST /mcp?x=1 HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"jsonrpc":"2.0"}',
  'POST /mcp HTTP/1.1\r\nHost: pod\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5\r\nhello\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n',
  'PUT /a HTTP/1.0\r\nHost: pod\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello',
  'GET http://pod/abs HTTP/1.1\r\nHost: pod\r\nConnection: close, X-A\r\nX-A: b\r\nTE: trailers\r\n\r\n',
  'DELETE /mcp HTTP/1.1\r\nHost: pod\r\nContent-Length: 0\r\nAuthorization: Bearer x\r\n\r\n',
  'POST /one HTTP/1.1\r\nHost: pod\r\nContent-Length: 3\r\n\r\nabcGET /two HTTP/1.1\r\nHost: pod\r\n\r\n',
]

const TOKENS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  '\0',
  '\t',
  ' ',
  '\u000b',
  '\u000c',
  '\u007f',
  '\u0080',
  '\u00ff',
  ':',
  ' :',
  ': ',
  ';',
  ',',
  '"',
  '\\',
  '#',
  '?',
  '/',
  '//',
  '@',
  '*',
  '%0d%0a',
  '+',
  '-',
  '0',
  '0x',
  '1',
  '5',
  'ffffffffffffffff',
  ';a=b',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'http://other/',
  'Host: other\r\n',
  'Host:\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 3, 3\r\n',
  'Content-Length:\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding:\tchunked\r\n',
  'Connection: close\r\n',
  'Connection: content-length\r\n',
  'Connection: transfer-encoding, host\r\n',
  'Upgrade: h2c\r\n',
  'Expect: 100-continue\r\n',
  'Expect: x\r\n',
  ' folded\r\n',
  '\tfolded\r\n',
  'X-A : b\r\n',
  ': nameless\r\n',
  'X-\u00e9: b\r\n',
  'chunked',
  'identity',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'GET /hidden HTTP/1.1\r\nHost: pod\r\n\r\n',
]

/** A request that was valid once, and what is left of it after a few strokes. */
export function mutatedRequest(random: Random): Buffer {
  let text = random.pick(BASES)
  for (let strokes = random.int(1, 3); strokes > 0; strokes--) text = mutate(random, text)
  return Buffer.from(text, 'latin1')
}

function mutate(random: Random, text: string): string {
  const at = random.int(0, text.length)
  switch (random.int(0, 6)) {
    case 0:
      return text.slice(0, at) + random.pick(TOKENS) + text.slice(at)
    case 1:
      return text.slice(0, at) + text.slice(at + random.int(1, 3))
    case 2:
      return text.slice(0, at) + String.fromCharCode(random.int(0, 255)) + text.slice(at + 1)
    case 3: {
      // A line of the text once more, somewhere else.
      const lines = text.split('\r\n')
      lines.splice(random.int(0, lines.length - 1), 0, random.pick(lines))
      return lines.join('\r\n')
    }
    default: {
      // A token at the start or the end of a line: that is where parsers differ.
      const lines = text.split('\r\n')
      const index = random.int(0, lines.length - 1)
      const line = lines[index]!
      const token = random.pick(TOKENS)
      const place = random.pick([0, line.length, line.indexOf(':') + 1, line.indexOf(' ') + 1])
      lines[index] = line.slice(0, place) + token + line.slice(place)
      return lines.join('\r\n')
    }
  }
}
